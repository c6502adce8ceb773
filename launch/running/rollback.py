"""Back to a generation that is stored on the hosts: its own commands, as it ran them, and nothing planned anew.

A recipe, a playbook or bringup itself may have changed since; what served before is replayed word for word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import BadInput, BringupError, ChangeFailed, CheckFailed, raise_all
from inventory.quoting import quote, quote_all
from inventory.transport.exchange import in_time
from launch.building.generation import Generation, read_generation
from launch.running.history import Entry, History, last_good, read_history, united
from launch.running.supervise import preamble

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Completed, Transport

DEADLINE_S = 20.0
SWITCH_DEADLINE_S = 30.0
SEPARATOR = "-- history"


@dataclass(frozen=True, slots=True)
class Stored:
    """What one host keeps of a deployment: its generations, the current one first, and what was done with them."""

    generations: tuple[Generation, ...]
    history: History


def stored_script(name: str, *, state_dir: str) -> str:
    words = quote(name)
    return f"{preamble(state_dir)}\ntell_generations {words}\nprintf '%s\\n' {quote(SEPARATOR)}\ntell_history {words}\n"


def read_stored(answer: str, host: str) -> Stored:
    """Read the answer of `stored_script`; records that are not ours are passed over."""
    records, _, told = answer.partition(f"{SEPARATOR}\n")
    generations = []
    for line in records.splitlines():
        try:
            generations.append(read_generation(line, host))
        except BringupError:
            continue
    return Stored(tuple(generations), read_history(told))


def ask(fleet: Fleet, name: str, hosts: Sequence[str]) -> dict[str, Stored | BringupError]:
    """What each host keeps."""

    def one(transport: Transport) -> Stored:
        script = stored_script(name, state_dir=fleet.state_dirs[transport.host])
        return read_stored(in_time(transport.run(script, timeout=DEADLINE_S), transport.host).text, transport.host)

    return fleet.each(one, hosts)


def entries_of(stored: Mapping[str, Stored]) -> tuple[Entry, ...]:
    return united({host: one.history for host, one in stored.items()})


def offer(stored: Mapping[str, Stored], *, besides: str) -> Generation | None:
    """The generation that served last, besides one, if its record is still there."""
    good = last_good(entries_of(stored), besides=besides)
    known = {one.generation: one for told in stored.values() for one in told.generations}
    return known.get(good.generation) if good else None


def target(gang: Generation, stored: Mapping[str, Stored], wanted: str) -> Generation:
    """The generation `wanted`, or the one that served before the current. Raises `BadInput` when there is none."""
    known = {one.generation: one for told in stored.values() for one in told.generations}
    found = known.get(wanted) if wanted else offer(stored, besides=gang.generation)
    others = [one for one in known if one != gang.generation]
    if found is not None and found.generation != gang.generation:
        return found
    if wanted == gang.generation:
        observed = f"{wanted} is the current one"
    elif wanted:
        observed = f"stored: {', '.join(known)}"
    else:
        served = f"{', '.join(others)}; none of them is known to have served" if others else "none"
        observed = f"stored beside the current one: {served}"
    raise BadInput(
        f"there is no generation of {gang.name} to go back to",
        id="generation-unknown",
        observed=observed,
        required="a generation that is stored on the hosts and is not the current one",
        next_command=f"invoke rollback {gang.flags} --to {others[0]}" if others else f"invoke history {gang.flags}",
    )


def refuse_incomplete(fleet: Fleet, gang: Generation) -> None:
    """Refuse a generation of which a host lacks the command, the engine or the weights; nothing was stopped then."""

    def one(transport: Transport) -> str:
        script = missing_script(gang, transport.host, state_dir=fleet.state_dirs[transport.host])
        return in_time(transport.run(script, timeout=DEADLINE_S), transport.host).text.strip()

    missing = {host: told for host, told in fleet.all(one, gang.hosts).items() if told}
    if missing:
        host, what = next(iter(missing.items()))
        raise CheckFailed(
            f"generation {gang.generation} is not whole any more; nothing was changed",
            id="generation-incomplete",
            observed="; ".join(f"{name}: {told.splitlines()[0]}" for name, told in missing.items()),
            required="its command, its environment and its weights on every host of the group",
            next_command=f"invoke deploy --model {quote(gang.recipe)} {gang.flags}",
            host=host if len(missing) == 1 and what else "",
        )


def missing_script(gang: Generation, host: str, *, state_dir: str) -> str:
    """Prints what of the generation is not there: its command, and the folders below the state dir that it names."""
    python = gang.of(host).python
    return (
        f"state_dir={quote(state_dir)}; folder=$state_dir/deployments/{quote(gang.name)}/{quote(gang.generation)}\n"
        'if [ ! -f "$folder/command.sh" ]; then printf "%s/command.sh\\n" "$folder"; exit 0; fi\n'
        f"[ -x {quote(python)} ] || command -v {quote(python)} >/dev/null 2>&1 || printf '%s\\n' {quote(python)}\n"
        'grep -o "$state_dir/\\(envs\\|weights\\)/[^ \':\\"]*" "$folder/command.sh" | sort -u |\n'
        "while read -r path; do\n"
        '  [ -e "$path" ] || printf "%s\\n" "$path"\n'
        "done\n"
    )


def switch(fleet: Fleet, gang: Generation) -> None:
    """Make the stored generation the current one on all its hosts. Raises `ChangeFailed` where it could not be."""

    def one(transport: Transport) -> Completed:
        words = quote_all([gang.name, gang.generation])
        script = f"set -e\n{preamble(fleet.state_dirs[transport.host])}\nswitch_generation {words}\n"
        return transport.run(script, timeout=SWITCH_DEADLINE_S)

    errors: list[BringupError] = []
    for host, outcome in fleet.each(one, gang.hosts).items():
        if isinstance(outcome, BringupError):
            errors.append(outcome)
        elif outcome.exit_status != 0:
            errors.append(
                ChangeFailed(
                    "the generation could not be switched",
                    id="switch-failed",
                    observed=outcome.stderr.decode(errors="replace").strip()[-300:],
                    required=f"{gang.generation} as the current generation of {gang.name}",
                    next_command=f"invoke rollback {gang.flags} --to {gang.generation}",
                    host=host,
                )
            )
    raise_all(errors)
