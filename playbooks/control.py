"""The control machine's own identity, and the lock that one run of it holds on every host that it changes."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ChangeFailed, Locked, raise_all
from inventory.transport.exchange import in_time
from playbooks.lock import ACQUIRED, Owner, acquire_script, break_script, is_stale, read_owner, release_script

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport

LOCK_DEADLINE_S = 20.0
STATE_DIR = "state-dir"
"""The id of a folder that takes no lock."""


def this_run(why: str) -> Owner:
    """Describe the running process as the owner of locks; `run` is random and short enough to read aloud."""
    import psutil

    return Owner(
        user=getpass.getuser(),
        control=socket.gethostname(),
        machine_id=_machine_id(),
        boot_id=Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        pid=os.getpid(),
        started=psutil.Process().create_time(),
        since=now(),
        why=why,
        run=secrets.token_hex(4),
    )


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def locked(
    fleet: Fleet,
    hosts: Sequence[str],
    owner: Owner,
    state_dirs: Mapping[str, str],
    *,
    unlockable: Callable[[BringupError], None] | None = None,
) -> Iterator[None]:
    """Hold the lock of all `hosts`, or of none: raises `Locked` with who holds it since when, doing what.

    The outcome of the block is appended to each host's audit log. `unlockable` is told of hosts where no lock can be
    written, such as on a full disk; they are then worked on without one, which only a stop may: nobody else can take
    one there either. Without it that is an error.
    """
    outcomes = fleet.each(lambda transport: _acquire(transport, owner, state_dirs[transport.host]), hosts)
    errors = [outcome for outcome in outcomes.values() if isinstance(outcome, BringupError)]
    if unlockable:
        for error in [one for one in errors if one.id == STATE_DIR]:
            unlockable(error)
            errors.remove(error)
    taken = [host for host, outcome in outcomes.items() if outcome is None]
    if errors:
        _release(fleet, taken, owner, state_dirs, outcome="")
        raise_all(errors)
    outcome = "done"
    try:
        yield
    except BaseException as error:
        outcome = error.id if isinstance(error, BringupError) else type(error).__name__
        raise
    finally:
        _release(fleet, taken, owner, state_dirs, outcome=outcome)


def unlock(fleet: Fleet, state_dirs: Mapping[str, str]) -> dict[str, str | BringupError]:
    """Break the lock of every host, whoever holds it; returns whose it was, nothing where there was none."""
    audit = _audit(this_run("unlock"))

    def one(transport: Transport) -> str:
        script = break_script(audit, state_dir=state_dirs[transport.host])
        answer = transport.run(script, timeout=LOCK_DEADLINE_S)
        if answer.exit_status != 0:
            raise ChangeFailed(
                "the lock cannot be removed",
                id="state-dir",
                observed=answer.stderr.decode(errors="replace").strip()[-300:],
                required=f"{state_dirs[transport.host]} writable by the login user",
                next_command=f"on the host: ls -la {state_dirs[transport.host]}/lock",
                host=transport.host,
            )
        broken, _, line = answer.text.partition("\n")
        return str(read_owner(line) or f"nobody's that can be read ({line.strip()[:80]!r})") if broken else ""

    return fleet.each(one)


def _acquire(transport: Transport, owner: Owner, state_dir: str) -> None:
    script = acquire_script(owner, state_dir=state_dir)
    for _ in range(2):
        answer = in_time(transport.run(script, timeout=LOCK_DEADLINE_S), transport.host)
        if answer.exit_status != 0:
            raise ChangeFailed(
                "the state dir cannot be written",
                id=STATE_DIR,
                observed=answer.stderr.decode(errors="replace").strip()[-300:],
                required=f"{state_dir} writable by the login user, or `sudo -n` allowed",
                next_command=f"on the host: df -h {state_dir}; sudo install -d -o $USER {state_dir}",
                host=transport.host,
            )
        if answer.text.strip() == ACQUIRED:
            return
        holder = read_owner(answer.text)
        if holder is None or not is_stale(holder, owner, _process_started):
            break
        transport.run(release_script(holder.run, state_dir=state_dir), timeout=LOCK_DEADLINE_S)
    raise Locked(
        "another run holds the lock of this host",
        id="locked",
        observed=str(holder or "a lock that is being taken right now"),
        required="no other run on this host",
        next_command=f"wait for it, or if it is gone for good: invoke unlock --hosts {transport.host}",
        host=transport.host,
    )


def _release(fleet: Fleet, hosts: Sequence[str], owner: Owner, state_dirs: Mapping[str, str], *, outcome: str) -> None:
    """Give locks back; a host that does not answer any more keeps its lock, which is then stale."""
    audit = f"{_audit(owner)}: {outcome}" if outcome else ""
    fleet.each(
        lambda transport: transport.run(
            release_script(owner.run, state_dir=state_dirs[transport.host], audit=audit),
            timeout=LOCK_DEADLINE_S,
        ),
        hosts,
    )


def _audit(owner: Owner) -> str:
    """What a line of an audit log says before its outcome."""
    return f"{now()} {owner.user}@{owner.control} run {owner.run} {owner.why}"


def _machine_id() -> str:
    """Which machine this is; empty where nobody ever gave it an id."""
    try:
        return Path("/etc/machine-id").read_text().strip()
    except OSError:
        return ""


def _process_started(pid: int) -> float | None:
    import psutil

    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return None
