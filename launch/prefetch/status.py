"""What hosts have of weights and what goes on there, asked from anywhere; and the end of what goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ChangeFailed
from inventory.quoting import quote
from inventory.transport.exchange import in_time
from launch.prefetch.job import WORK
from launch.prefetch.manifest import NAME
from launch.prefetch.progress import read_progress

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport

ASK_S = 60.0
CANCEL_WAIT_S = 20


@dataclass(frozen=True, slots=True)
class WeightsState:
    """One folder of weights. `state`: complete, fetching, verifying, spreading, partial.

    `there` and `total` in bytes, None: nobody tells. `last`: what the last job said, when none runs.
    """

    host: str
    weights: str  # org--repo/commit
    state: str
    there: int | None = None
    total: int | None = None
    last: str = ""


def status_of(fleet: Fleet) -> tuple[list[WeightsState], list[BringupError]]:
    """Every folder of weights on every host that answers, and the errors of those that do not."""
    outcomes = fleet.each(lambda transport: _asked(transport, fleet.state_dirs[transport.host]))
    found = [one for outcome in outcomes.values() if not isinstance(outcome, BringupError) for one in outcome]
    return found, [one for one in outcomes.values() if isinstance(one, BringupError)]


def _asked(transport: Transport, state_dir: str) -> list[WeightsState]:
    answer = in_time(transport.run(status_script(state_dir), timeout=ASK_S), transport.host)
    return read_status(transport.host, answer.text)


def status_script(state_dir: str) -> str:
    """A line for each folder, then one for each spread: `weights TAB NAME TAB sealed|open TAB locked|free TAB LAST`."""
    return rf"""cd {quote(state_dir)}/weights 2>/dev/null && for at in */*/; do
  at=${{at%/}}; work=$at/{WORK}
  [ -d "$at" ] || continue
  if [ -e "$at/{NAME}" ]; then sealed=sealed; else sealed=open; fi
  if [ -e "$work/lock" ] && ! flock -n "$work/lock" true; then held=locked; else held=free; fi
  bytes=$(du -sLb --exclude=.cache -- "$at" 2>/dev/null | cut -f 1)
  printf 'weights\t%s\t%s\t%s\t%s\t%s\n' "$at" "$sealed" "$held" "$bytes" "$(tail -n 1 "$work/told" 2>/dev/null)"
done
cd {quote(state_dir)}/spread 2>/dev/null && for run in */; do
  printf 'spread\t%s\t%s\n' "$(tr -d '\n\t' <"$run/plan.json" 2>/dev/null)" \
    "$(tr -d '\n\t' <"$run/state.json" 2>/dev/null)"
done
:
"""


def read_status(host: str, answer: str) -> list[WeightsState]:
    rows = [line.split("\t") for line in answer.splitlines()]
    spreads = dict(_spread(row) for row in rows if row[0] == "spread" and len(row) == 3)
    return [_state(host, row, spreads) for row in rows if row[0] == "weights" and len(row) == 6]


def _state(host: str, row: list[str], spreads: dict[str, int]) -> WeightsState:
    _, name, sealed, held, size, last = row
    told = read_progress(last)
    word, there, total = told[:3] if told else ("fetching", None, None)
    if held == "locked":
        return WeightsState(host, name, word, there, total)
    if sealed == "sealed":
        size_there = int(size) if size.isdecimal() else None
        return WeightsState(host, name, "complete", size_there, size_there)
    spread = next((done for folder, done in spreads.items() if folder.endswith(f"/{name}")), None)
    if spread is not None:
        return WeightsState(host, name, "spreading", spread, total)
    return WeightsState(host, name, "partial", int(size) if size.isdecimal() else there, total)


def _spread(row: list[str]) -> tuple[str, int]:
    """Which folder a spread fills, and the bytes that had their sums; nothing where it does not go any more."""
    try:
        plan, state = json.loads(row[1]), json.loads(row[2])
        return str(plan["folder"]), int(state["bytes"])
    except (ValueError, KeyError, TypeError):
        return "", 0


def cancel(fleet: Fleet) -> dict[str, list[str] | BringupError]:
    """End all fetches and spreads of the hosts; returns which folders were being filled, by host."""
    from launch.prefetch.distribute import end_spreads

    outcomes = fleet.each(lambda transport: _cancelled(transport, fleet.state_dirs[transport.host]))
    end_spreads(fleet)
    return outcomes


def _cancelled(transport: Transport, state_dir: str) -> list[str]:
    answer = in_time(transport.run(cancel_script(state_dir), timeout=ASK_S + CANCEL_WAIT_S), transport.host)
    words = [line.partition(" ")[::2] for line in answer.text.splitlines()]
    still = [name for word, name in words if word == "still"]
    if still:
        raise ChangeFailed(
            "a prefetch does not end",
            id="not-cancelled",
            observed=f"{', '.join(still)} is still being filled after {CANCEL_WAIT_S} s",
            required="a program that looks whether it shall end, ten times a second",
            next_command=f"invoke jobs --running --hosts {transport.host}; on the host: kill -- -PID of that job",
            host=transport.host,
        )
    return [name for word, name in words if word == "ended"]


def cancel_script(state_dir: str) -> str:
    """Ask every program that fills a folder to end, by a file that it looks for; prints `ended` or `still` NAME."""
    return rf"""cd {quote(state_dir)}/weights 2>/dev/null || exit 0
held() {{ [ -e "$1/{WORK}/lock" ] && ! flock -n "$1/{WORK}/lock" true; }}
for at in */*/; do
  at=${{at%/}}
  held "$at" || continue
  touch -- "$at/{WORK}/cancel"
  looks=0
  while [ "$looks" -lt {CANCEL_WAIT_S * 5} ] && held "$at"; do sleep 0.2; looks=$((looks + 1)); done
  if held "$at"; then echo "still $at"; else echo "ended $at"; rm -f -- "$at/{WORK}/token"; fi
done
"""
