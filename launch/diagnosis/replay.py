"""A capture from a folder: one that `diagnose --capture` wrote, or logs that somebody sent, a folder or file a host.

What lies there is data of unknown origin: only regular files below the folder are read, each to a limit.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from inventory.errors import BadInput, BringupError
from inventory.yamlfile import parse
from launch.diagnosis import clock, manifest, zones
from launch.diagnosis.capture import Capture, Kind, Source
from launch.diagnosis.clock import Clock
from launch.diagnosis.lines import COLOUR, read
from launch.diagnosis.manifest import Manifest

SHORT = 1 << 20
"""Characters of a text that is read as the output of a command."""
FACTS = "facts/"
"""The folder of our own captures that holds a bundle of facts."""
MOST_BYTES = 8 << 20
"""Of one log, from its end."""
MOST_FILES = 2000
KERNEL = ("*kernel*", "*dmesg*", "kern.log*", "journal_k*", "journalctl_-k*", "journalctl_k*")
LOGS = (
    *(
        "log",
        "*.log",
        "*.log.gz",
        "*.log.[0-9]*",
        "*.out",
        "*.err",
        "stdout*",
        "stderr*",
        "journal*",
        "nccl*",
        "docker*",
    ),
    *("events*", "*sshd*", "rank*", "vllm*", "*-json.log*", "messages", "syslog*", "pull*"),
)
NOT_SEARCHED = (
    *("plan*", "case.yaml", "inventory*", "manifest*", "state.*", "offsets.tsv", "marker*", "README*", "*env.txt"),
    *("environ*", "pip_freeze*", "find_cache*", "ls*", "ssh_config*", "metrics*", "apt_history*", "*.sh"),
    *("ps*", "ss_*", "ip_*", "py-spy*", "findmnt*", "df*", "lspci*", "id.txt", "record", "log.1", "gpu_use*"),
    *("nccl_ras*", "stack_*", "load.txt", "clock.txt", "log_age*", "probe*", "generation*"),
)
"""Told elsewhere, or of another attempt: no line of these is an error."""
SHARED_FOLDERS = frozenset({"logs", "log", "kernel", "dmesg", "journal", "ranks", "rendered", "output"})
JOURNAL_STAMP = re.compile(r'"__REALTIME_TIMESTAMP" ?: ?"(?P<us>\d{16})"')
LOCAL = re.compile(r"[-_.](?:rank|dp|engine|vllm|log|stdout|stderr|kernel|dmesg|journal)[-_.]?\d*$")


@dataclass(frozen=True, slots=True)
class File:
    """`name`: below the folder. `host`: empty where it is of none."""

    name: str
    host: str
    text: str
    cut: bool

    @property
    def base(self) -> str:
        return PurePosixPath(self.name).name.removesuffix(".gz")


def load(folder: Path) -> Capture:
    """Read the folder. Raises `BadInput` where there is none, or nothing in it."""
    if not folder.is_dir():
        raise refused(folder, "no folder")
    files = list(_files(folder))
    if not files:
        raise refused(folder, "no file that is text")
    return capture_of(files)


def capture_of(files: Sequence[File]) -> Capture:
    """Put texts together, whatever their order."""
    files = sorted(files, key=lambda one: one.name)
    told = next((manifest.read(one.text) for one in files if one.name == manifest.NAME), None)
    clocks = _clocks(files, told)
    addresses = _addresses(files)
    sources = [_source(one, clocks.get(one.host, clocks[""])) for one in files if _kind(one.base) is not None]
    hosts = dict.fromkeys([*(told.hosts if told else ()), *addresses, *(one.host for one in files if one.host)])
    outputs: dict[str, dict[str, str]] = {}
    for one in files:
        if len(one.text) < SHORT:
            outputs.setdefault(one.host, {})[one.name] = one.text
    compared = told is not None or len(hosts) < 2 or bool(_offsets(files))
    whole = told or Manifest()
    return Capture(
        hosts=tuple(hosts),
        sources=tuple(sources),
        outputs=outputs,
        addresses=addresses,
        plan=_plan(files),
        unanswered=whole.unanswered,
        began_at=whole.began_at,
        at=whole.at,
        not_checked=(*whole.not_checked, *([] if compared else ["clocks of the hosts were not compared"])),
        compared=compared,
        name=whole.name,
        model=whole.model,
    )


def refused(folder: Path, observed: str) -> BadInput:
    return BadInput(
        f"{folder} is no capture",
        id="capture",
        observed=observed,
        required="a folder of `diagnose --capture`, or one with a folder or HOST.log for each host",
        next_command="invoke diagnose --hosts HOSTS --capture FOLDER",
    )


def _files(folder: Path) -> Iterator[File]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    places = ((path, path.relative_to(folder).as_posix()) for path in paths)
    ours = (folder / manifest.NAME).is_file()
    told = ((path, name) for path, name in places if not (ours and name.startswith(FACTS)))
    names = [one for _, one in zip(range(MOST_FILES), told, strict=False)]
    hosts = {name.split("/")[0] for _, name in names if "/" in name} - SHARED_FOLDERS
    hosts |= {host_of(name, hosts) for _, name in names if "/" not in name and name.endswith((".log", ".log.gz"))}
    for path, name in names:
        text, cut = _text(path)
        if text is not None:
            yield File(name, host_of(name, hosts), text, cut)


def host_of(name: str, known: set[str]) -> str:
    """`tray1/kernel.txt`, `tray1.log`, `logs/tray1-rank3.log`: tray1. Other files beside the folders are of no host."""
    parts = PurePosixPath(name).parts
    if len(parts) > 1 and parts[0] not in SHARED_FOLDERS:
        return parts[0]
    stem = re.sub(r"(?:\.(?:log|txt|out|err|json|gz|\d{1,3}))+$", "", parts[-1])
    named = sorted(known, key=len, reverse=True)
    begins = next((host for host in named if re.match(rf"{re.escape(host)}(?![A-Za-z0-9])", stem)), "")
    ends = next((host for host in named if re.search(rf"[-_.]{re.escape(host)}$", stem)), "")
    if begins or ends:
        return begins or ends
    is_log = parts[-1].removesuffix(".gz").endswith((".log", ".out", ".err")) or len(parts) > 1
    return LOCAL.sub("", stem) if is_log and parts[0] != "rendered" else ""


def _text(path: Path) -> tuple[str | None, bool]:
    """The end of a file as text, and whether its beginning was left out; None for what is no text."""
    try:
        data, cut = _end(path)
    except (OSError, EOFError, zlib.error):
        return None, False
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return data.decode("utf-16", errors="replace"), cut
    return (None if data[:1024].count(0) > 64 else data.decode("utf-8", errors="replace")), cut


def _end(path: Path) -> tuple[bytes, bool]:
    if path.suffix == ".gz":
        data = _inflated(path.read_bytes()[:MOST_BYTES])
        return data[-MOST_BYTES:], len(data) > MOST_BYTES
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - MOST_BYTES))
        return file.read(MOST_BYTES), size > MOST_BYTES


def _inflated(data: bytes) -> bytes:
    """What is whole of a gzip file, its members one after the other; one that is cut off counts as far as it goes."""
    found = b""
    while data and len(found) < 8 * MOST_BYTES:
        one = zlib.decompressobj(wbits=31)
        found += one.decompress(data, 8 * MOST_BYTES)
        data = one.unused_data
    return found


def _kind(base: str) -> Kind | None:
    """What a file is, by its name; None: nothing in it is searched."""
    if any(fnmatch(base, one) for one in KERNEL):
        return Kind.KERNEL
    if any(fnmatch(base, one) for one in NOT_SEARCHED):
        return None
    if any(fnmatch(base, one) for one in LOGS):
        return Kind.LOG
    return Kind.OUTPUT if base.endswith((".txt", ".csv", ".json")) else None


def _source(one: File, when: Clock) -> Source:
    kind = _kind(one.base)
    assert kind is not None  # noqa: S101  (the caller chose those)
    return Source(one.host, one.name, kind, read(one.text, when), one.cut)


def _offsets(files: Sequence[File]) -> dict[str, float]:
    """A table of hosts and the seconds that each is ahead."""
    rows = (line.split() for one in files if one.name == "offsets.tsv" for line in one.text.splitlines())
    return {row[0]: float(row[1]) for row in rows if len(row) > 1 and re.fullmatch(r"[+-]?\d+(?:\.\d+)?", row[1])}


def _clocks(files: Sequence[File], told: Manifest | None) -> dict[str, Clock]:
    """The clock of each host by name; that of nobody by the empty name."""
    near = told.at if told and told.at is not None else _near(files)
    ahead = _offsets(files)
    known = told.hosts if told else {}
    names = dict.fromkeys(["", *known, *(one.host for one in files)])
    offsets = zones.offsets({host: [one.text for one in files if one.host == host] for host in names}, near)
    clocks = {host: Clock(near, ahead.get(host), offsets[host]) for host in names}
    return clocks | {
        host: Clock(near, ahead.get(host) if one.ahead_s is None else one.ahead_s, one.utc_offset_s, one.booted_at)
        for host, one in known.items()
    }


def _near(files: Sequence[File]) -> float | None:
    """A moment near all lines: a time with a year counts before one without."""
    whole: list[float] = []
    short: list[float] = []
    for one in files:
        for line in one.text[:20_000].splitlines()[:80]:
            plain = COLOUR.sub("", line)
            if stamp := JOURNAL_STAMP.search(plain):
                whole.append(int(stamp["us"]) / 1e6)
                continue
            match = clock.search(plain)
            at = Clock().moment(match) if match else None
            if match and at is not None:
                (whole if match.groupdict().get("y") else short).append(at)
    return min(whole, default=None) or min(short, default=None)


def _plan(files: Sequence[File]) -> dict[str, object]:
    told = _yaml(files, "plan.yaml")
    fabric = str(told.get("fabric", "")).lower()
    rdma = told.get("rdma") if isinstance(told.get("rdma"), bool) else fabric in {"rdma", "ib", "roce", "infiniband"}
    return {**told, "rdma": rdma}


def _addresses(files: Sequence[File]) -> dict[str, str]:
    """The case's own forms of an inventory, and a plan that lists hosts with addresses."""
    told = _yaml(files, "inventory.yaml")
    inner = told.get("hosts", told)
    found = {str(name): _address(one) for name, one in inner.items()} if isinstance(inner, dict) else {}
    listed = _yaml(files, "plan.yaml").get("hosts")
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and "name" in one:
            found.setdefault(str(one["name"]), _address(one))
    return found


def _address(told: object) -> str:
    if not isinstance(told, dict):
        return str(told)
    keys = ("fabric_address", "address", "ip", "ansible_host", "ssh")
    return next((str(told[key]) for key in keys if key in told), "")


def _yaml(files: Sequence[File], name: str) -> dict[str, Any]:
    text = next((one.text for one in files if one.name == name), "")
    try:
        data = parse(text.encode(), name).data if text else {}
    except BringupError:
        return {}
    return data if isinstance(data, dict) else {}
