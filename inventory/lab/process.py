"""Programs that the lab runs on this machine, and the PID 1 of its hosts: every wait has an end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inventory.errors import ChangeFailed

COMMAND_S = 20.0
CLEAN_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}


def run(argv: Sequence[str], *, stdin: str = "", timeout_s: float = COMMAND_S) -> str:
    """Run `argv` to its end and return its stdout; `ChangeFailed` when it fails or takes too long."""
    try:
        done = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            env=CLEAN_ENVIRONMENT,
        )
    except subprocess.TimeoutExpired:
        raise command_failed(argv, f"no end after {timeout_s:g} s") from None
    if done.returncode != 0:
        raise command_failed(argv, told(done.stderr) or f"exit status {done.returncode}")
    return done.stdout


def command_failed(argv: Sequence[str], observed: str) -> ChangeFailed:
    return ChangeFailed(
        f"the lab could not run: {' '.join(argv)}",
        id="lab-failed",
        observed=observed,
        required="exit status 0",
        next_command="invoke lab.down",
    )


def told(text: str) -> str:
    """The last line of what a program said that tells something."""
    lines = (line.strip() for line in reversed(text.splitlines()))
    return next((line for line in lines if line and not line.startswith(("dmesg(1) may", "Command failed"))), "")


@dataclass(frozen=True, slots=True)
class Pid:
    """A process that a number alone does not tell from a later one: `start` is field 22 of /proc/pid/stat."""

    number: int
    start: int

    @classmethod
    def of(cls, number: int) -> Pid | None:
        """The process that has this number now; one that has ended and is not yet waited for does not count."""
        try:
            text = Path(f"/proc/{number}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        state, *fields = text.rpartition(")")[2].split()
        return None if state in "ZX" else cls(number, int(fields[18]))

    @classmethod
    def read(cls, path: Path) -> Pid | None:
        """The process recorded in `path`, if it still runs."""
        try:
            number, start = map(int, path.read_text().split())
        except FileNotFoundError:
            return None
        pid = cls(number, start)
        return pid if cls.of(number) == pid else None

    def write(self, path: Path) -> None:
        path.write_text(f"{self.number} {self.start}\n")


def kill(pid: Pid, *, timeout_s: float = 10.0) -> None:
    """Kill the process and wait until it is gone; for the PID 1 of a namespace that is all of its processes."""
    try:
        handle = os.pidfd_open(pid.number)
    except ProcessLookupError:
        return
    try:
        if Pid.of(pid.number) != pid:
            return
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        gone, _, _ = select.select([handle], [], [], timeout_s)
    except ProcessLookupError:
        return
    finally:
        os.close(handle)
    if not gone:
        raise command_failed(["kill", "-9", str(pid.number)], f"still there after {timeout_s:g} s")
