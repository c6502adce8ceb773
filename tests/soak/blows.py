"""What strikes a run in the middle, and how it is put right again: the run's process, sshd, the power, the disk."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from inventory.lab import access, boot, faults
from inventory.lab.state import Lab
from tests.soak.run import STATE

FULL_MB = 128  # of the small disk: wheels, uv unpacked and the environment take 60; uv was once there twice
FILES = "/srv/soak"
NO_LOGIN = 255


@dataclass(frozen=True, slots=True)
class Struck:
    """One blow: `lab`, the host it is for, and the run that is going on."""

    lab: Lab
    host: str
    run: subprocess.Popen[str]


def on(lab: Lab, host: str, command: str, *, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run a shell command on a lab host; a login that did not come about (255) is tried again."""
    argv = ["ssh", "-o", "ConnectTimeout=15", *access.ssh(lab, host, [command])[1:]]
    for _ in range(4):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, check=False)
        if done.returncode != NO_LOGIN:
            break
        time.sleep(2)
    return done


def kill_control(blow: Struck) -> Callable[[], None]:
    os.kill(blow.run.pid, signal.SIGKILL)
    return lambda: None


def kill_sshd(blow: Struck) -> Callable[[], None]:
    """Every session of the host's sshd is killed, and for a second nobody answers. (Its listener is the lab host's
    life: it is stopped and goes on.)"""
    listeners = _sshd_of(blow.lab, blow.host)
    for listener in listeners:
        listener.suspend()
    for session in [one for listener in listeners for one in listener.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            if session.name() == "sshd":
                session.kill()
    time.sleep(1)
    for listener in listeners:
        listener.resume()
    return lambda: None


def cut_power(blow: Struck) -> Callable[[], None]:
    faults.power_off(blow.host, lab=blow.lab.name)
    return lambda: faults.power_on(blow.host, lab=blow.lab.name)


def fill_disk(blow: Struck) -> Callable[[], None]:
    """The small disk that `before_full` put there has no byte left."""
    on(blow.lab, blow.host, f"dd if=/dev/zero of={STATE}/.fill bs=64k; dd if=/dev/zero of={FILES}/.fill bs=4k")
    return lambda: _removed(blow)


def before_full(lab: Lab, host: str) -> None:
    """Small disks of their own for the state dir and the files."""
    script = (
        f"mkdir -p {STATE} {FILES} && mount -t tmpfs -o size={FULL_MB}m t {STATE} && "
        f"mount -t tmpfs -o size=1m t {FILES}"
    )
    done = on(lab, host, script)
    assert done.returncode == 0, done.stderr


def after_full(lab: Lab, host: str) -> None:
    on(lab, host, f"umount -l {STATE} {FILES}")


BLOWS: Mapping[str, Callable[[Struck], Callable[[], None]]] = {
    "control": kill_control,
    "sshd": kill_sshd,
    "power": cut_power,
    "disk": fill_disk,
}
"""Each strikes, and returns what puts it right once the run has ended."""


def moment(chance: random.Random, run: subprocess.Popen[str], lines: int) -> bool:
    """Wait for a moment of the run by chance: behind a line of it, or a little later. Whether it still goes on."""
    assert run.stderr
    for _ in range(chance.randrange(lines)):
        if not run.stderr.readline():
            break
    time.sleep(chance.random() * chance.choice((0.05, 0.5, 1.5)))
    return run.poll() is None


def _removed(blow: Struck) -> None:
    done = on(blow.lab, blow.host, f"rm -f {STATE}/.fill {FILES}/.fill")
    assert done.returncode == 0, done


def _sshd_of(lab: Lab, host: str) -> list[psutil.Process]:
    """The listeners: children of the host's first process."""
    [(_, first)] = boot.running(lab, [one for one in lab.hosts if one.name == host])
    return [one for one in psutil.Process(first.number).children() if one.name() == "sshd"]
