"""What can happen to a host: its cables are pulled, its power goes, it stands still. And back again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from inventory.errors import BadInput, ChangeFailed
from inventory.lab import access, boot, network, process, state
from inventory.lab.network import NETWORKS, Network
from inventory.lab.process import Pid
from inventory.lab.state import Lab, LabHost

BOOT_S, FREEZE_S = 30.0, 5.0


def find(host: str, lab: str | None = None) -> tuple[Lab, LabHost]:
    """The lab that has `host`, and the host; `BadInput` when none has it, or several and `lab` does not say which."""
    names = state.names() if lab is None else (lab,)
    labs = [state.load(name) for name in names]
    found = [(one, each) for one in labs for each in one.hosts if each.name == host]
    if len(found) == 1:
        return found[0]
    there = [f"{each.name} of {one.name}" for one in labs for each in one.hosts]
    raise BadInput(
        f"{host} is in more than one lab" if found else f"no lab has a host named {host}",
        id="lab-input",
        observed=f"hosts: {', '.join(there[:12]) or 'none'}",
        required="the name of one host of a lab that is up",
        next_command="invoke lab.list",
    )


def cut(host: str, *, only: Network | None = None, lab: str | None = None) -> None:
    """Pull the host's cables, or the one of a network: both ends lose their carrier, nothing is said to anybody."""
    one, each = find(host, lab)
    _pid(one, each)
    network.set_carrier(one, each, _networks(only), up=False)


def heal(host: str, *, only: Network | None = None, lab: str | None = None) -> None:
    """Put the cables back in."""
    one, each = find(host, lab)
    _pid(one, each)
    network.set_carrier(one, each, _networks(only), up=True)


def power_off(host: str, *, lab: str | None = None) -> None:
    """Take the host's power: its links go first, so that no connection is closed; then every process is gone."""
    one, each = find(host, lab)
    pid = _pid(one, each)
    network.set_carrier(one, each, NETWORKS, up=False)
    process.kill(pid)
    network.unplug(one, each)


def power_on(host: str, *, lab: str | None = None, timeout_s: float = BOOT_S) -> None:
    """Boot the host again on the disk that it had, with a new boot id; returns when SSH answers."""
    one, each = find(host, lab)
    if boot.running(one, [each]):
        raise _wrong_state(each, "on", "off")
    network.unplug(one, each)
    boot.start(one, [each], timeout_s=timeout_s)


def freeze(host: str, *, lab: str | None = None) -> None:
    """Stop every process of the host where it stands: connections stay, nobody answers."""
    one, each = find(host, lab)
    first = _pid(one, each)
    deadline = time.monotonic() + FREEZE_S
    while running := [pid for pid in _processes_of(first) if _state(pid) not in "TZX"]:
        if time.monotonic() > deadline:
            raise ChangeFailed(
                "not every process of a lab host could be stopped",
                id="lab-failed",
                host=host,
                observed=f"{len(running)} go on after {FREEZE_S:g} s",
                required="all stopped",
                next_command=f"invoke lab.power-off {host}",
            )
        _signal(running, signal.SIGSTOP)


def thaw(host: str, *, lab: str | None = None) -> None:
    """Let the processes of a frozen host go on."""
    _signal(list(_processes_of(_pid(*find(host, lab)))), signal.SIGCONT)


def shell(host: str, command: Sequence[str] = (), *, lab: str | None = None) -> int:
    """Log in to the host by SSH, at this terminal; returns ssh's exit status."""
    one, each = find(host, lab)
    _pid(one, each)
    return subprocess.run(access.ssh(one, each.name, command), check=False).returncode


def _networks(only: Network | None) -> tuple[Network, ...]:
    if only is not None and only not in NETWORKS:
        raise BadInput(
            f"hosts have no network named {only}",
            id="lab-input",
            observed=repr(only),
            required=f"one of {', '.join(NETWORKS)}",
            next_command="invoke lab.cut --help",
        )
    return NETWORKS if only is None else (only,)


def _pid(lab: Lab, host: LabHost) -> Pid:
    running = boot.running(lab, [host])
    if not running:
        raise _wrong_state(host, "off", "on")
    return running[0][1]


def _wrong_state(host: LabHost, observed: str, required: str) -> BadInput:
    verb = "power-on" if required == "on" else "power-off"
    return BadInput(
        f"the host is {observed}",
        id="lab-input",
        host=host.name,
        observed=f"power {observed}",
        required=f"power {required}",
        next_command=f"invoke lab.{verb} {host.name}",
    )


def _processes_of(first: Pid) -> Iterator[int]:
    """Every process in the PID namespace of `first`, as this machine counts."""
    namespace = Path(f"/proc/{first.number}/ns/pid").readlink()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "ns/pid").readlink() == namespace:
                yield int(folder.name)


def _state(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return "X"


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
