"""The logs of all ranks as one: merged by time, with each host's clock corrected by what it was when it answered."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.quoting import quote
from inventory.transport.exchange import in_time
from launch.diagnosis.clock import Clock
from launch.diagnosis.lines import Line, read
from launch.request import refused
from launch.running.supervise import look_script, preamble, read_look

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.building.generation import Generation

DEADLINE_S = 25.0
MOST_BYTES = 4 << 20
"""Of each host's log, from its end."""
ALL_LINES = 100_000
PAUSE_S = 1.0
CHATTER = re.compile(r"NCCL INFO|NCCL TRACE")
_AGO = re.compile(r"(?P<number>\d{1,6})(?P<unit>[smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class HostLog:
    """One host's log. `ahead_s`: its clock, of ours. `age_s`: of the last line; None: there is no log."""

    state: str
    age_s: int | None
    size: int
    clock: Clock
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    host: str
    line: Line


def log_script(name: str, lines: int, *, state_dir: str) -> str:
    return f"{preamble(state_dir)}\ntell_log {quote(name)} {lines:d} {MOST_BYTES}\n"


def read_log(answer: bytes, asked_at: float, answered_at: float) -> HostLog:
    """Read the answer of `log_script`. Raises `ValueError` when it is not one.

    The host's clock was read somewhere between the two moments of ours.
    """
    head, _, text = answer.partition(b"\n")
    clock, zone, size, age, *state = head.decode(errors="replace").split(" ")
    here = float(clock)
    ahead = here - (asked_at + answered_at) / 2
    # A difference within the round trip is none: it may be the way of the answer.
    certain = abs(ahead) > (answered_at - asked_at) / 2
    offset = (-1 if zone[0] == "-" else 1) * (int(zone[1:3]) * 3600 + int(zone[3:5]) * 60)
    return HostLog(
        state=state[-1] if state else "",
        age_s=int(age) if age.isdecimal() else None,
        size=int(size),
        clock=Clock(near=here, ahead_s=ahead if certain else 0.0, utc_offset_s=offset),
        text=text.decode(errors="replace"),
    )


def ask(fleet: Fleet, gang: Generation, hosts: Sequence[str], lines: int) -> dict[str, HostLog | BringupError]:
    """The end of each host's log."""

    def one(transport: Transport) -> HostLog:
        script = log_script(gang.name, lines, state_dir=fleet.state_dirs[transport.host])
        asked_at = time.time()
        answer = in_time(transport.run(script, timeout=DEADLINE_S), transport.host)
        return read_log(answer.stdout, asked_at, time.time())

    return fleet.each(one, hosts)


def merged(logs: Mapping[str, HostLog], *, since: float | None = None, rank: int | None = None) -> list[Told]:
    """The lines of all hosts in the order in which they were written; those without any time keep their place."""
    found = []
    for host, log in logs.items():
        lines = of_rank(read(log.text, log.clock), rank) if rank is not None else read(log.text, log.clock)
        found += [Told(host, one) for one in lines if since is None or (one.at is not None and one.at >= since)]
    return sorted(found, key=lambda one: one.line.at or 0.0)


def last(told: Sequence[Told], number: int) -> list[Told]:
    """The last lines of each host, in their order."""
    left: dict[str, int] = {}
    kept = []
    for one in reversed(told):
        left[one.host] = left.get(one.host, number) - 1
        if left[one.host] >= 0:
            kept.append(one)
    return kept[::-1]


def of_rank(lines: Sequence[Line], rank: int) -> Iterator[Line]:
    """The lines of the processes of one data-parallel rank; a line without a process goes with the one before it."""
    ours = False
    for line in lines:
        if line.process:
            ours = line.rank == rank
        if ours:
            yield line


def shown(told: Sequence[Told], *, chatter: bool = False) -> Iterator[str]:
    """`tray1 12:34:56 | text` of each line, without what NCCL says of itself."""
    width = max((len(one.host) for one in told), default=0)
    for one in told:
        if chatter or not CHATTER.search(one.line.raw):
            at = datetime.fromtimestamp(one.line.at, UTC).strftime("%H:%M:%S") if one.line.at else "        "
            yield f"{one.host:<{width}} {at} | {one.line.raw}"


def heads(logs: Mapping[str, HostLog]) -> Iterator[str]:
    """A line for each host: its state, and how old its last line is."""
    for host, log in logs.items():
        age = "no log" if log.age_s is None else f"last line {log.age_s} s ago"
        ahead = log.clock.ahead_s or 0.0
        skew = f", its clock is {abs(ahead):.1f} s {'ahead' if ahead > 0 else 'behind'}" if abs(ahead) > 1 else ""
        yield f"{host}: {log.state or 'unknown'}, {age}{skew}"


def follow(
    fleet: Fleet, gang: Generation, logs: Mapping[str, HostLog], rank: int | None, *, until: Callable[[], bool]
) -> Iterator[Told]:
    """The lines that come from now on, `until` it says so. Raises the error of a host that does not answer any more."""
    offsets, rests = {host: log.size for host, log in logs.items()}, dict.fromkeys(logs, b"")
    while not until():

        def one(transport: Transport) -> bytes:
            state_dir = fleet.state_dirs[transport.host]
            script = look_script(gang.name, offsets[transport.host], state_dir=state_dir)
            look = read_look(in_time(transport.run(script, timeout=DEADLINE_S), transport.host).stdout)
            if look.log_size < offsets[transport.host]:  # it was started anew
                offsets[transport.host] = 0
                return b""
            offsets[transport.host] += len(look.piece)
            return look.piece

        fresh: dict[str, HostLog] = {}
        for host, piece in fleet.each(one, tuple(logs)).items():
            if isinstance(piece, BringupError):
                raise piece
            *whole, rests[host] = (rests[host] + piece).split(b"\n")
            text = b"\n".join(whole).decode(errors="replace")
            clock = Clock(time.time(), logs[host].clock.ahead_s, logs[host].clock.utc_offset_s)
            fresh[host] = HostLog("", None, 0, clock, text)
        yield from merged(fresh, rank=rank)
        time.sleep(PAUSE_S)


def moment(value: str) -> float | None:
    """`10m`, `2h`, or a time as ISO 8601 has it: seconds of Unix time. None when it is not given."""
    if not value:
        return None
    if ago := _AGO.fullmatch(value.strip()):
        return time.time() - int(ago["number"]) * _SECONDS[ago["unit"]]
    try:
        told = datetime.fromisoformat(value.strip())
    except ValueError:
        raise refused("since", value, "how long ago, such as 90s, 10m or 2h, or a time: 2026-01-31T12:30") from None
    return told.astimezone(UTC).timestamp()
