"""One run at a time per host: a folder made by mkdir, with who, where, since and why inside.

The scripts are pure text; who may break a lock is decided here too. A lock is stale when its owner ran on this
control machine (same name, same machine id) and is gone, or when it was taken and never signed. Anything else is
somebody's: it is refused, and `invoke unlock` says whose it was when it breaks it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

from inventory.quoting import quote

ACQUIRED = "acquired"
BROKEN = "broken"
UNSIGNED_IS_STALE_AFTER_S = 60


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lock. `boot_id`, `pid` and `started` name one process of one boot of the control machine."""

    user: str
    control: str
    machine_id: str  # host names are no identity: half of all machines are called localhost or ubuntu
    boot_id: str
    pid: int
    started: float
    since: str  # ISO 8601, UTC
    why: str
    run: str

    def __str__(self) -> str:
        return f"{self.user}@{self.control} (pid {self.pid}) since {self.since}: {self.why}"

    def to_line(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def read_owner(line: str) -> Owner | None:
    """Read an owner; None when the line is not one (a lock that was never signed, or another version's)."""
    try:
        return Owner(**json.loads(line))
    except (ValueError, TypeError):
        return None


def is_stale(holder: Owner, me: Owner, process_started: Callable[[int], float | None]) -> bool:
    """Tell whether `holder` is a dead process of my own control machine.

    `process_started(pid)` gives the start time (Unix seconds) of a live process, None when there is none.
    """
    if (holder.control, holder.machine_id) != (me.control, me.machine_id):
        return False
    if holder.boot_id != me.boot_id:
        return True
    started = process_started(holder.pid)
    return started is None or abs(started - holder.started) > 1.0


def acquire_script(owner: Owner, *, state_dir: str) -> str:
    """Take the lock: prints `acquired`, or the holder's line (empty when unsigned and fresh)."""
    state, line = quote(state_dir), quote(owner.to_line())
    return f"""
state={state}; lock=$state/lock
# The state folder usually lies where only root may make folders; it then belongs to the login user.
[ -d "$state" ] || mkdir -p "$state" 2>/dev/null || sudo -n install -d -m 0755 -o "$(id -un)" "$state" || exit 1
unsigned_for() {{ [ ! -s "$lock/owner" ] && echo $(( $(date +%s) - $(stat -c %Y "$lock") )) || echo 0; }}
if [ -d "$lock" ] && [ "$(unsigned_for)" -gt {UNSIGNED_IS_STALE_AFTER_S} ]; then
  rm -f "$lock/owner.new" "$lock/owner"; rmdir "$lock"
fi
if mkdir "$lock" 2>/dev/null; then
  # A disk that is full takes the folder and not the signature: such a lock would be nobody's for ever.
  if printf '%s\\n' {line} >"$lock/owner.new" && mv "$lock/owner.new" "$lock/owner"; then printf {ACQUIRED}
  else rm -f "$lock/owner.new"; rmdir "$lock"; df -Ph "$state" >&2; exit 1; fi
elif [ -d "$lock" ]; then
  cat "$lock/owner" 2>/dev/null || :
else
  printf 'the lock cannot be made in %s\\n' "$state" >&2; exit 1
fi
"""


def release_script(run: str, *, state_dir: str, audit: str = "") -> str:
    """Give the lock of `run` back, and only that; `audit` is appended to the host's audit log first."""
    state = quote(state_dir)
    note = f"printf '%s\\n' {quote(audit)} >>\"$state/audit.log\"\n" if audit else ""
    return f"""
state={state}
{note}if grep -qF {quote(json.dumps(run))} "$state/lock/owner" 2>/dev/null; then
  rm -f "$state/lock/owner" && rmdir "$state/lock"
fi
"""


def break_script(audit: str, *, state_dir: str) -> str:
    """Remove the lock, whoever holds it and whatever is in it: prints `broken` and, if there was one, its holder.

    `audit` and the run whose lock it was are appended to the host's audit log.
    """
    return f"""
state={quote(state_dir)}; lock=$state/lock
[ -e "$lock" ] || [ -L "$lock" ] || exit 0
printf '{BROKEN}\\n'; cat "$lock/owner" 2>/dev/null || :
run=$(sed -n 's/.*"run": "\\([0-9a-f]\\{{1,16\\}}\\)".*/\\1/p' "$lock/owner" 2>/dev/null | head -n 1)
rm -rf -- "$lock" || exit 1
printf '%s: done\\n' {quote(audit)}" of run ${{run:-that nobody signed}}" >>"$state/audit.log" || :
"""
