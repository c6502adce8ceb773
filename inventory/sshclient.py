"""Running `ssh -G`: with a deadline and a bounded answer, because `Match exec` may run anything."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from typing import IO, Final

from inventory.errors import BadInput
from inventory.quoting import quote_all

DEADLINE_S: Final = 15.0
LIMIT_BYTES: Final = 1 << 20


def print_config(target: str, arguments: tuple[str, ...] = ()) -> str:
    """Return what `ssh -G` prints for `target`; raises `BadInput` when it cannot."""
    command = ["ssh", "-T", *arguments, "-G", "--", target]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        status = _run(command, out, errors)
        if status is None:
            raise _refused(command, f"no answer in {DEADLINE_S:g} s")
        if status != 0:
            raise _refused(command, _read(errors).strip() or f"exit status {status}")
        return _read(out)


def _run(command: list[str], out: IO[bytes], errors: IO[bytes]) -> int | None:
    """Exit status, or None past the deadline: then the whole session of the process is killed."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True)
    except FileNotFoundError:
        raise BadInput(
            "there is no ssh client on this machine",
            id="ssh-config",
            observed="no program ssh on PATH",
            required="the OpenSSH client, which knows how hosts are reached",
            next_command="sudo apt-get install openssh-client",
        ) from None
    with process:
        try:
            return process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(LIMIT_BYTES).decode("utf-8", errors="surrogateescape")


def _refused(command: list[str], observed: str) -> BadInput:
    return BadInput(
        f"ssh refuses its configuration for {command[-1]}",
        id="ssh-config",
        observed="; ".join(observed.splitlines()[-3:]),
        required="an ssh_config that ssh itself accepts",
        next_command=quote_all(command),
    )
