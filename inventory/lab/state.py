"""What a running lab is, and its record on disk: any process can list it, harm it and take it down.

A lab lies below `root()` (`/run/bringup-lab`, or `$BRINGUP_LAB_DIR`), one folder for each name:

    lab.json                                     this record, written before anything is made
    hosts.yaml ssh_config known_hosts id_ed25519 what reaches the hosts
    switch                                       the bridges' network namespace (a mount)
    image/                                       files that all hosts share (a mount)
    hosts/<host>/{disk/,pid,boot.log}            the host's own disk (a mount) and its PID 1
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from inventory.errors import BadInput

FORMAT_VERSION = 1
DEFAULT = "lab"
"""The lab of `invoke lab.up`."""

LAB_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
HOST_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
MOST_HOSTS = 200


def root() -> Path:
    return Path(os.environ.get("BRINGUP_LAB_DIR", "/run/bringup-lab"))


def machine_boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@dataclass(frozen=True, slots=True)
class LabHost:
    """One host; `number` counts from 1 and makes the names of its links. Addresses without prefix length."""

    name: str
    number: int
    control: str
    fabric: str


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab as `lab.json` tells it.

    `networks` are control and fabric, both /24. `leg` is the interface of this machine in the control network.
    `binds` are folders of this machine that every host sees read-only: (source, place in the host). `systemd`: the
    hosts' first process is systemd.
    """

    name: str
    profile: str
    simulated: bool
    boot_id: str
    networks: tuple[str, str]
    leg: str
    hosts: tuple[LabHost, ...]
    binds: tuple[tuple[str, str], ...] = ()
    systemd: bool = False

    @property
    def folder(self) -> Path:
        return root() / self.name

    @property
    def switch(self) -> Path:
        return self.folder / "switch"

    @property
    def image(self) -> Path:
        return self.folder / "image"

    @property
    def inventory(self) -> Path:
        return self.folder / "hosts.yaml"

    @property
    def ssh_config(self) -> Path:
        return self.folder / "ssh_config"

    def of(self, host: str) -> Path:
        """The folder of `host`."""
        return self.folder / "hosts" / host

    def disk(self, host: str) -> Path:
        return self.of(host) / "disk"

    @property
    def survived(self) -> bool:
        """False after a reboot of this machine: only files are left of the lab."""
        return self.boot_id == machine_boot_id()


def save(lab: Lab) -> None:
    """Write `lab.json` by rename, so that a reader never sees half of it."""
    text = json.dumps({"format_version": FORMAT_VERSION, **asdict(lab)}, indent=1)
    half = lab.folder / "lab.json.new"
    half.write_text(text)
    half.rename(lab.folder / "lab.json")


def checked_name(name: str) -> str:
    if not LAB_NAME.fullmatch(name):
        raise BadInput(
            "this cannot be the name of a lab",
            id="lab-input",
            observed=repr(name),
            required="lower case letters, digits and hyphens, a letter first, at most 32",
            next_command="invoke lab.list",
        )
    return name


def checked_hosts(hosts: int | Sequence[str]) -> tuple[str, ...]:
    """The names of a lab's hosts: as given, or tray1, tray2, ... for a number."""
    wanted = tuple(f"tray{n}" for n in range(1, hosts + 1)) if isinstance(hosts, int) else tuple(hosts)
    bad = [name for name in wanted if not HOST_NAME.fullmatch(name)]
    if bad or len(set(wanted)) != len(wanted) or not 1 <= len(wanted) <= MOST_HOSTS:
        raise BadInput(
            "these cannot be the hosts of a lab",
            id="lab-input",
            observed=f"{len(wanted)} hosts{': ' + ', '.join(bad[:3]) if bad else ''}",
            required=f"1 to {MOST_HOSTS} different names of lower case letters, digits and hyphens",
            next_command="invoke lab.up --hosts 2 --profile gb200",
        )
    return wanted


def load(name: str) -> Lab:
    """Read the lab `name`; `BadInput` when there is none."""
    checked_name(name)
    try:
        record = json.loads((root() / name / "lab.json").read_text())
    except FileNotFoundError:
        raise unknown_lab(name) from None
    return Lab(
        name=record["name"],
        profile=record["profile"],
        simulated=record["simulated"],
        boot_id=record["boot_id"],
        networks=tuple(record["networks"]),
        leg=record["leg"],
        hosts=tuple(LabHost(**host) for host in record["hosts"]),
        binds=tuple((source, place) for source, place in record["binds"]),
        systemd=record.get("systemd", False),
    )


def unknown_lab(name: str) -> BadInput:
    there = names()
    return BadInput(
        f"no lab named {name} is up",
        id="lab-input",
        observed=f"labs that are up: {', '.join(there) or 'none'}",
        required="the name of a lab that is up",
        next_command="invoke lab.list" if there else "invoke lab.up --hosts 2 --profile gb200",
    )


def names() -> tuple[str, ...]:
    """The labs that have a record, in order."""
    return tuple(sorted(path.parent.name for path in root().glob("*/lab.json")))


@contextmanager
def locked() -> Iterator[Path]:
    """Hold the lock of all labs on this machine and have their folder; both are gone when no lab is left."""
    folder = root()
    while (handle := _lock(folder)) is None:
        pass
    try:
        yield folder
    finally:
        if not any(folder.iterdir()):
            folder.rmdir()
        os.close(handle)


def _lock(folder: Path) -> int | None:
    """Lock the folder, made if need be; None when the last lab's end removed it meanwhile: try again."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (FileExistsError, FileNotFoundError):
        return None
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        if folder.stat().st_ino == os.fstat(handle).st_ino:
            return handle
    except FileNotFoundError:
        pass
    os.close(handle)
    return None
