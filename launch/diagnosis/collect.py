"""Make a capture: ask every host of a deployment at once, and keep what they say in one folder with a manifest.

Nothing on the hosts is changed. A host that does not answer is told in the manifest; the others are kept all the same.
Whatever may be a secret is taken out before anything is written here.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.facts.gather import ask
from inventory.facts.redact import Redactor
from inventory.facts.saved import kept_at, refuse_taken
from inventory.quoting import quote_all
from inventory.secret import HIDDEN
from inventory.transport.exchange import in_time
from launch.diagnosis import manifest
from launch.diagnosis.cleaned import cleaned
from launch.diagnosis.environs import differences
from launch.diagnosis.manifest import Kept, Manifest
from launch.hosts import bundles
from launch.hosts.gather import Answered, asked_of
from launch.running.supervise import functions

if TYPE_CHECKING:
    from inventory.facts.raw import RawAnswer
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.building.generation import Generation

PAUSE_S = 20
"""Between two looks at the same stacks and counters."""
WITHIN_S = 72.0
"""All of a host's answers; with what finding the deployment takes beforehand a capture ends within 90 s."""
COLLECT_S = 40.0
CLOCK_DEADLINE_S = 5.0
FACTS_S = 13
"""The longest section of the facts, and what ends the script around it."""
AROUND_FACTS_S = 14.0
SINCE = "-2d"
MOST_FILES = 500
MOST_FILE_BYTES = 8 << 20
MOST_BYTES = 96 << 20
FACTS = "facts"
NAME = re.compile(r"[\w][\w.-]{0,100}")
ZONE = re.compile(r"([+-])(\d\d)(\d\d)")


class Depth(StrEnum):
    """How much is collected: logs and states; facts and checks too; stacks and counters twice, which is a capture."""

    LOGS = "logs"
    FACTS = "facts"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class HostTold:
    """What one host sent: its texts by file name, how far its clock is ahead, and its facts."""

    files: Mapping[str, bytes]
    ahead_s: float
    utc_offset_s: float
    booted_at: float | None
    facts: RawAnswer | BringupError | None  # None: not asked


def capture(
    fleet: Fleet,
    gang: Generation,
    folder: Path,
    *,
    depth: Depth,
    unanswered: Mapping[str, BringupError],
    hide: set[str] | None = None,
) -> None:
    """Write a capture at `folder`, which is not there or empty. `hide`: texts to leave out.

    Raises `BadInput` where it cannot be written.
    """
    refuse_taken(folder)
    hosts = [host for host in gang.hosts if host not in unanswered]
    outcomes = fleet.each(lambda transport: _of_host(transport, fleet, gang, depth), hosts)
    told = {host: one for host, one in outcomes.items() if isinstance(one, HostTold)}
    silent = {**unanswered, **{host: one for host, one in outcomes.items() if isinstance(one, BringupError)}}
    with kept_at(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        redactor = Redactor()
        kept = {host: dict(_written(folder / host, one, redactor, hide or set())) for host, one in told.items()}
        _save_facts(folder / FACTS, fleet, told)
        (folder / "environment.txt").write_text("".join(f"{line}\n" for line in differences(_environs(folder, told))))
        told_of = Manifest(
            at=time.time(),
            name=gang.name,
            generation=gang.generation,
            model=gang.recipe,
            hosts={host: _entry(one, kept[host]) for host, one in told.items()},
            unanswered={host: _reason(error) for host, error in silent.items()},
            not_checked=tuple(_not_checked(told, depth)),
        )
        (folder / manifest.NAME).write_text(told_of.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _of_host(transport: Transport, fleet: Fleet, gang: Generation, depth: Depth) -> HostTold:
    began = time.monotonic()
    ahead = _ahead(transport)
    member = gang.of(transport.host)
    ports = [url.rpartition(":")[2] for url in member.urls]
    state_dir, deep = fleet.state_dirs[transport.host], depth is Depth.WHOLE
    script = collect_script(gang.name, state_dir=state_dir, python=member.python, ports=ports, deep=deep)
    files = dict(unpacked(in_time(transport.run(script, timeout=COLLECT_S), transport.host).stdout))
    zone, booted = _told_clock(files.get("clock.txt", b"").decode(errors="replace"))
    left_s = WITHIN_S - (time.monotonic() - began)
    facts = None if depth is Depth.LOGS else _facts(transport, fleet, left_s)
    return HostTold(files, ahead, zone, booted, facts)


def _facts(transport: Transport, fleet: Fleet, left_s: float) -> RawAnswer | BringupError:
    """Last, because the rest is worth more; in the time that is left."""
    seconds = max(1, min(FACTS_S, int(left_s - AROUND_FACTS_S)))
    try:
        return ask(transport, replace(asked_of(fleet.hosts, transport.host), seconds=seconds))
    except BringupError as error:
        return error


def collect_script(name: str, *, state_dir: str, python: str, ports: list[str], deep: bool) -> str:
    """The script of one host: `programs/collect.sh` on the functions that start and stop deployments."""
    program = (Path(__file__).parents[1] / "programs" / "collect.sh").read_text(encoding="utf-8")
    words = quote_all([name, SINCE, PAUSE_S if deep else 0, python, *ports])
    return f"state_dir={quote_all([state_dir])}\n{functions()}{program}collect {words}\n"


def _ahead(transport: Transport) -> float:
    """How far the clock of the host is ahead of this one, to half a round trip."""
    before = time.time()
    answer = in_time(transport.run("date +%s.%N", timeout=CLOCK_DEADLINE_S), transport.host).text.strip()
    middle = (before + time.time()) / 2
    return float(answer) - middle if re.fullmatch(r"\d{9,11}\.\d{1,9}", answer) else 0.0


def _told_clock(text: str) -> tuple[float, float | None]:
    """Seconds from UTC, and when the host booted by its own clock, of the line `EPOCH ZONE UPTIME`."""
    words = text.split()
    zone = ZONE.fullmatch(words[1]) if len(words) == 3 else None
    offset = (-1 if zone[1] == "-" else 1) * (int(zone[2]) * 3600 + int(zone[3]) * 60) if zone else 0
    try:
        return float(offset), float(words[0]) - float(words[2])
    except (ValueError, IndexError):
        return float(offset), None


def unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The regular files of a host's archive, which is not trusted: plain names, bounded in number and size."""
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for number, member in enumerate(archive):
                name = member.name.removeprefix("./")
                total += member.size
                if number > MOST_FILES or total > MOST_BYTES:
                    return
                file = archive.extractfile(member) if member.isreg() and NAME.fullmatch(name) else None
                if file is not None:
                    yield name, file.read(MOST_FILE_BYTES)
    except (tarfile.TarError, OSError, EOFError, zlib.error):
        return  # what came before a cut counts


def _written(folder: Path, one: HostTold, redactor: Redactor, hide: set[str]) -> Iterator[tuple[str, Kept]]:
    """Write the texts of a host, and tell of each its size and sum."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in sorted(one.files.items()):
        clean = cleaned(name, folder.name, data, redactor)
        for secret in hide:
            clean = clean.replace(secret.encode(), HIDDEN.encode())
        (folder / name).write_bytes(clean)
        yield name, Kept(bytes=len(clean), sha256=hashlib.sha256(clean).hexdigest())


def _save_facts(folder: Path, fleet: Fleet, told: Mapping[str, HostTold]) -> None:
    asked = {host: one.facts for host, one in told.items() if one.facts is not None}
    raw = {host: one for host, one in asked.items() if not isinstance(one, BringupError)}
    errors = {host: one for host, one in asked.items() if isinstance(one, BringupError)}
    if raw:
        hosts = {host: fleet.hosts[host] for host in (*raw, *errors)}
        bundles.save(folder, Answered(hosts=hosts, raw=raw, errors=errors), raw=False)


def _environs(folder: Path, told: Mapping[str, HostTold]) -> dict[str, dict[str, str]]:
    """The environment of the oldest process of each host that has one."""
    found = {}
    for host in told:
        for path in sorted((folder / host).glob("environ_*.txt"), key=lambda one: int(one.stem.partition("_")[2] or 0)):
            lines = (line.partition("=") for line in path.read_text(errors="replace").splitlines())
            found[host] = {name: value for name, equals, value in lines if equals}
            break
    return found


def _entry(one: HostTold, files: dict[str, Kept]) -> manifest.HostTold:
    return manifest.HostTold(
        ahead_s=round(one.ahead_s, 3), utc_offset_s=one.utc_offset_s, booted_at=one.booted_at, files=files
    )


def _reason(error: BringupError) -> str:
    return f"{error.message} [{error.id}]"


def _not_checked(told: Mapping[str, HostTold], depth: Depth) -> Iterator[str]:
    deep = depth is Depth.WHOLE
    for host, one in told.items():
        if isinstance(one.facts, BringupError):
            yield f"facts and checks of {host}: {one.facts.message}"
        if deep and not any(name.startswith("py-spy") for name in one.files):
            yield f"Python stacks on {host}: there is no py-spy in the environment, or no process"
        if deep and not any(name.startswith("nccl_ras") for name in one.files):
            yield f"NCCL's own view on {host}: nothing listens on its port"
    if depth is Depth.LOGS:
        yield "facts of the hosts and what checks say of them: `invoke diagnose` asks"
    if not deep:
        yield "stacks and a second look at counters: --capture FOLDER takes them"
