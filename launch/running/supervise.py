"""Scripts that start, stop and look at the ranks of one host, and the readers of their answers. Pure.

systemd runs them where it is PID 1; elsewhere a plain process group does, which is weaker: nothing limits it, and a
reboot does not even leave a trace in a journal. The same `command.sh` and the same record serve both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import inventory.facts
from inventory.errors import BadInput
from inventory.quoting import quote, quote_all
from launch.building.generation import Generation, read_generation
from launch.running.cache_lines import Actual, kept, of_lines
from playbooks.plan import ABSENT, Action, Phase, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

STOP_GRACE_S = 20
"""Seconds from TERM to KILL beyond the drain."""
LOG_PIECE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class RankState:
    """What a host says of its ranks: `state` is running, partial, dead, stopped or absent."""

    generation: str
    state: str


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a host: `log_size` is the size of the whole log, `piece` what came behind the asked offset.

    Ages in seconds, of the log's last line and of the start. `cpu_ticks`: of all processes; with `gpus`, the share of
    time that each is busy, in words: only where it was asked for. None, and empty: the host does not tell.
    """

    ranks: RankState
    log_size: int
    piece: bytes
    log_age_s: int | None = None
    started_s: int | None = None
    cpu_ticks: int | None = None
    gpus: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What a host says of one deployment. `generation` is None when its record cannot be read.

    `caches`: what its engines logged of their KV caches; none before they were ready. `pid`, `restarts` and
    `exit_status` are those of the main process, as far as its supervisor knows. `since`: when this generation became
    the current one, Unix time by the host's clock. `guard`: 1 where its guard runs, 0 where it should.
    """

    name: str
    ranks: RankState
    log_age_s: int | None
    generation: Generation | None
    caches: tuple[Actual, ...] = ()
    pid: int | None = None
    restarts: int | None = None
    exit_status: int | None = None
    since: int | None = None
    guard: int | None = None


@cache
def functions() -> str:
    """The shell functions that every script here begins with."""
    facts = Path(inventory.facts.__path__[0])
    programs = Path(__file__).parents[1] / "programs"
    pieces = [facts / "sh" / "process.sh", facts / "sh" / "deployment_processes.sh", facts / "gpu" / "now.sh"]
    pieces += [programs / name for name in ("supervise.sh", "guards.sh", "caches.sh")]
    return "".join(path.read_text(encoding="utf-8") for path in pieces)


def state_step(gang: Generation, *, state_dir: str, phase: Phase, deadline_s: float) -> Step:
    """The step that ranks of this generation run (phase START) or that none of this deployment do (phase STOP)."""
    start, name = phase is Phase.START, gang.name
    probe = f"{preamble(state_dir)}\ndeployment_state {quote(name)}"
    if not start:
        # Any generation: which one is current does not matter to a stop, and what is absent is stopped.
        probe += " | sed -e 's/.* //' -e 's/^absent$/stopped/'"
    verb = (
        f"start_deployment {quote(name)}" if start else f"stop_and_prove {quote(name)} {gang.drain_s + STOP_GRACE_S:d}"
    )
    return Step(
        id=f"{'start' if start else 'stop'} {name}",
        phase=phase,
        why="the group starts together" if start else "a group is replaced as a whole",
        probe=probe,
        wanted=f"{gang.generation} running" if start else "stopped",
        script=f"{preamble(state_dir)}\n{verb}\n",
        summary=f"{'start' if start else 'stop'} the ranks of {name}",
        action=Action.START if start else Action.STOP,
        deadline_s=deadline_s,
    )


def look_script(name: str, offset: int, *, state_dir: str, deep: bool = False) -> str:
    """`deep`: also what processes and GPUs compute, which takes longer."""
    return f"{preamble(state_dir)}\nlook {quote(name)} {offset:d} {LOG_PIECE_BYTES}{' deep' if deep else ''}\n"


def read_look(answer: bytes) -> Look:
    """Read the answer of `look_script`. Raises `ValueError` when it is not one."""
    header, _, piece = answer.partition(b"\n")
    state_line, *told = header.decode(errors="replace").split("\t")
    if len(told) != 5:
        raise ValueError(f"not a state line: {header[:80]!r}")
    size, age, started, ticks, gpus = told
    return Look(
        ranks=read_state(state_line),
        log_size=int(size),
        piece=piece,
        log_age_s=_number(age),
        started_s=_number(started),
        cpu_ticks=_number(ticks),
        gpus="" if gpus == "-" else gpus,
    )


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def read_state(line: str) -> RankState:
    """Read `GENERATION STATE` or `absent`."""
    generation, _, state = line.strip().rpartition(" ")
    return RankState(generation, state or ABSENT)


def tell_script(*, state_dir: str) -> str:
    return f"{preamble(state_dir)}\ntell_deployments\n"


def read_told(answer: str, host: str) -> tuple[Told, ...]:
    """Read the answer of `tell_script`; a deployment whose record is not ours is told without one."""
    lines = answer.split("\n")
    return tuple(
        Told(
            name=name,
            ranks=read_state(state),
            log_age_s=int(age) if age.isdecimal() else None,
            generation=_generation_or_none(record, host),
            caches=of_lines(caches.split("\t")),
            **_main(main),
        )
        for name, state, age, record, caches, main in zip(*(lines[i::6] for i in range(6)), strict=False)
        if name
    )


def _main(text: str) -> dict[str, int]:
    """The numbers that the supervisor knows of the main process."""
    named = {"pid": "pid", "restarts": "restarts", "exit": "exit_status", "since": "since", "guard": "guard"}
    pairs = (part.partition("=") for part in text.split())
    return {named[key]: int(value) for key, _, value in pairs if key in named and re.fullmatch(r"[0-9]{1,12}", value)}


def _generation_or_none(record: str, host: str) -> Generation | None:
    try:
        return read_generation(record, host)
    except BadInput:
        return None


def stock_script(name: str, lines: Sequence[str], *, state_dir: str) -> str:
    """Keep who the ranks are, and log lines of the current generation's engines beside their log; tells their state."""
    return f"set -e\n{preamble(state_dir)}\ntake_stock {quote_all([name, *kept(lines)])}\n"


def tail_script(name: str, lines: int, *, state_dir: str) -> str:
    """The last lines of the log of the current generation."""
    return f"tail -n {lines:d} -- {quote(state_dir)}/deployments/{quote(name)}/current/log\n"


def start_script(name: str, *, state_dir: str) -> str:
    return f"set -e\n{preamble(state_dir)}\nstart_deployment {quote(name)}\n"


def stop_script(name: str, ports: Sequence[int], *, state_dir: str, grace_s: int = STOP_GRACE_S) -> str:
    """Stop and prove: prints one line for everything that is left."""
    return f"{preamble(state_dir)}\nstop_and_prove {quote_all([name, grace_s, *ports])}\n"


def preamble(state_dir: str) -> str:
    """What every script here begins with: the state dir and the functions."""
    return f"state_dir={quote(state_dir)}\n{functions()}"
