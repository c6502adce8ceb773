"""Starting hosts: fresh namespaces, boot.sh inside them, cables, and the wait until SSH answers."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inventory.errors import ChangeFailed
from inventory.lab import cgroups, network
from inventory.lab.process import CLEAN_ENVIRONMENT, Pid, told
from inventory.lab.state import Lab, LabHost

BOOT_SCRIPT = Path(__file__).with_name("boot.sh")
NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")


@dataclass(slots=True)
class _Starting:
    """A host between its namespaces and the word that its cables are in."""

    host: LabHost
    outside: subprocess.Popen[bytes]

    def say_go(self) -> None:
        assert self.outside.stdin is not None  # noqa: S101  (for the type checker)
        with suppress(BrokenPipeError):  # it ended meanwhile: what it says next is nothing
            os.write(self.outside.stdin.fileno(), b"go\n")  # nothing stays in a buffer that closing would write again

    def listen(self, deadline: float) -> bytes:
        """The next line that boot.sh says; empty when it has ended or says nothing until `deadline`."""
        assert self.outside.stdout is not None  # noqa: S101  (for the type checker)
        out = self.outside.stdout.fileno()
        ready, _, _ = select.select([out], [], [], max(0.0, deadline - time.monotonic()))
        return os.read(out, 64).strip() if ready else b""


def start(lab: Lab, hosts: Sequence[LabHost], *, timeout_s: float) -> None:
    """Start `hosts` and return when SSH answers on each; `ChangeFailed` says why a host did not come."""
    deadline = time.monotonic() + timeout_s
    starting = [_Starting(host, _namespaces(lab, host)) for host in hosts]
    try:
        pids = [(one.host, _pid(lab, one, deadline)) for one in starting]
        network.plug_in(lab, ((host, pid.number) for host, pid in pids))
        for one in starting:
            one.say_go()
        for one in starting:
            if one.listen(deadline) != b"plugged in":
                raise _not_booted(lab, one.host)
        for host, pid in pids:
            _wait_for_ssh(lab, host, pid, deadline)
    finally:
        for one in starting:
            _let_go(one.outside)


def _namespaces(lab: Lab, host: LabHost) -> subprocess.Popen[bytes]:
    """Start boot.sh as PID 1 of fresh namespaces, in a session of its own: it outlives this process."""
    disk = lab.disk(host.name)
    argv = ["setsid", "--fork", *_in_group(lab, host), "unshare", *NAMESPACES, "--fork", "--kill-child"]
    argv += ["/bin/sh", str(BOOT_SCRIPT), host.name, str(disk), str(lab.image), str(disk / "network")]
    argv.append("systemd" if lab.systemd else "sh")
    argv += [word for pair in lab.binds for word in pair]
    with (lab.of(host.name) / "boot.log").open("wb") as log:
        return subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=CLEAN_ENVIRONMENT,
            cwd="/",
        )


def _in_group(lab: Lab, host: LabHost) -> list[str]:
    """The words before a command that start it in the host's own control group, if it is to have one."""
    if not lab.systemd:
        return []
    return ["/bin/sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', str(cgroups.make(lab, host))]


def _pid(lab: Lab, starting: _Starting, deadline: float) -> Pid:
    """Read what boot.sh says first and put it on record, before the host is allowed to go on."""
    line = starting.listen(deadline)
    pid = Pid.of(int(line)) if line.isdigit() else None
    if pid is None:
        raise _not_booted(lab, starting.host)
    pid.write(lab.of(starting.host.name) / "pid")
    if lab.systemd:
        cgroups.move_parent_out(pid)
    return pid


def _wait_for_ssh(lab: Lab, host: LabHost, pid: Pid, deadline: float) -> None:
    while not _greets(host.control):
        if Pid.of(pid.number) != pid or time.monotonic() > deadline:
            raise _not_booted(lab, host)
        time.sleep(0.01)


def _greets(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=1) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _not_booted(lab: Lab, host: LabHost) -> ChangeFailed:
    logs = (lab.of(host.name) / "boot.log", lab.disk(host.name) / "upper/var/log/init.log")
    said = [told(log.read_text(errors="replace")) for log in logs if log.exists()]
    return ChangeFailed(
        "a lab host did not boot",
        id="lab-failed",
        host=host.name,
        observed=next(filter(None, said), "nothing was logged"),
        required=f"SSH answers on {host.control}",
        next_command="invoke lab.down",
    )


def _let_go(outside: subprocess.Popen[bytes]) -> None:
    """Close our ends (a host that still waits for the word then ends) and reap the program that forked it."""
    for pipe in (outside.stdin, outside.stdout):
        if pipe is not None:
            pipe.close()
    outside.wait(timeout=10)


def running(lab: Lab, hosts: Iterable[LabHost]) -> list[tuple[LabHost, Pid]]:
    """The hosts that are on, with their PID 1."""
    found = ((host, Pid.read(lab.of(host.name) / "pid")) for host in hosts)
    return [(host, pid) for host, pid in found if pid is not None and lab.survived]
