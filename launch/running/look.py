"""One look at one host of a deployment: everything that `status` asks of it, in one round trip. Pure.

The parts run beside each other on the host, so a GPU driver or an endpoint that does not answer costs its own deadline
only, and takes nothing from the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inventory.quoting import quote, quote_all
from launch.running.history import History, read_history
from launch.running.placed import Process, processes_of
from launch.running.supervise import preamble
from launch.serving.readings import Load, loads, read_page

if TYPE_CHECKING:
    from launch.building.generation import Generation

PROGRAM = Path(__file__).parents[1] / "programs" / "observe.py"
CANARY_S = 8.0
METRICS_S = 1.0
TAIL_BYTES = 128 * 1024
DEADLINE_S = 14.0
_PART = re.compile(rb"== (\S+) (\d+)\n")


@dataclass(frozen=True, slots=True)
class Gpu:
    """What a GPU does at this moment; None: its tool does not tell. Shares in per cent, power in watts."""

    index: int
    busy: float | None
    memory_busy: float | None
    watts: float | None


@dataclass(frozen=True, slots=True)
class Look:
    """`canary`: what the completions printed. `log`: the end of the ranks' log. `gpus_error`: of a silent driver."""

    canary: str = ""
    loads: tuple[Load, ...] = ()
    metrics_error: str = ""
    processes: tuple[Process, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    gpus_error: str = ""
    log: str = ""
    history: History = field(default_factory=History)


def look_script(gang: Generation, host: str, canary: str, *, state_dir: str) -> str:
    """`canary`: the script that asks for completions; empty where the host has no endpoint."""
    member, name = gang.of(host), quote(gang.name)
    observe = f"env -i {quote(member.python)} {quote_all(['-', METRICS_S, ','.join(member.urls)])}"
    lines = [
        preamble(state_dir),
        "folder_aside || exit 74",
        f"ask() {{ {canary or ':'}\n}}",
        f"watch_it() {{ {observe} $(all_processes {name}) <<'END_OF_PROGRAM'\n{PROGRAM.read_text()}END_OF_PROGRAM\n}}",
        f"end_of_log() {{ tail -c {TAIL_BYTES} -- {quote(state_dir)}/deployments/{name}/current/log; }}",
        'owners() { gpu_processes | tee "$ob_folder/gpu-owners" | gpu_nodes; }',
        "observed canary ask",
        "observed ranks watch_it",
        "observed gpu-now gpu_activity",
        "observed gpu-nodes owners",
        "observed log end_of_log",
        f"observed history tell_history {name}",
        "tell_observed",
    ]
    return "\n".join(lines) + "\n"


def parts(answer: bytes) -> dict[str, str]:
    """The parts of the answer, by name."""
    found, at = {}, 0
    while match := _PART.match(answer, at):
        end = match.end() + int(match[2])
        found[match[1].decode()] = answer[match.end() : end].decode(errors="replace")
        at = end + 1
    return found


def read_look(answer: bytes) -> Look:
    """Read the answer of `look_script`; a part that is missing or broken tells nothing."""
    told = parts(answer)
    ranks = _object(told.get("ranks", ""))
    seen, error = _loads(ranks.get("pages"))
    gpus = tuple(gpu for line in told.get("gpu-now", "").splitlines() if (gpu := _gpu(line)))
    return Look(
        canary=told.get("canary", "") or told.get("canary.err", ""),
        loads=seen,
        metrics_error=error,
        processes=processes_of(ranks.get("processes"), told.get("gpu-owners", ""), told.get("gpu-nodes", "")),
        gpus=gpus,
        gpus_error="" if gpus else told.get("gpu-now.err", "").strip()[-200:],
        log=told.get("log", ""),
        history=read_history(told.get("history", "")),
    )


def _object(text: str) -> Mapping[str, Any]:
    try:
        told = json.loads(text)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _loads(pages: object) -> tuple[tuple[Load, ...], str]:
    """The load between two looks at each endpoint, and the first error of one that could not be asked."""
    found: list[Load] = []
    error = ""
    for url, both in pages.items() if isinstance(pages, dict) else ():
        try:
            before, after = both
            seconds = float(after["at"]) - float(before["at"])
            found += loads(read_page(str(before["text"]), str(url)), read_page(str(after["text"]), str(url)), seconds)
        except (ValueError, KeyError, TypeError):
            error = error or f"{url}: {_said(both)}"
    return tuple(found), error


def _said(both: object) -> str:
    told = [one.get("error") for one in both if isinstance(one, dict)] if isinstance(both, list) else []
    return str(next((one for one in told if one), "no metrics that can be read"))


def _gpu(line: str) -> Gpu | None:
    words: Sequence[str] = line.split()
    if len(words) != 4 or not words[0].isdecimal():
        return None
    return Gpu(int(words[0]), *(_number(word) for word in words[1:]))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
