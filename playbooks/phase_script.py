"""All changes of one host in one phase as one POSIX sh script that reports each of them by an event line.

An event is `<name> TAB <index of the change> TAB <detail>`; the names are the members of `Event`. The script stops
at the first change that drifts, fails or does not converge. The detail of a failure is its exit status and, where the
change named it, a space and the name (see `plan`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum

from inventory.quoting import quote
from playbooks.plan import REFUSED, Change
from playbooks.probes import AS_ROOT, state_function


class Event(StrEnum):
    BEGIN = "begin"
    DONE = "done"
    DRIFT = "drift"
    FAILED = "failed"
    UNCONVERGED = "unconverged"


_PRELUDE = rf"""set -u
cd / || exit 1
event() {{ printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$EVENTS"; }}
named() {{ sed -n 's/^outcome\t//p' "$JOB/output" 2>/dev/null | tail -n 1 | tr -d '\t'; }}
{AS_ROOT}
by_root() {{ if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }}
"""


def phase_script(changes: Sequence[Change]) -> str:
    """Render the script; EVENTS names the file that takes the event lines, JOB the folder with its own output."""
    return _PRELUDE + "".join(_change(index, change) for index, change in enumerate(changes))


def _change(index: int, change: Change) -> str:
    return f"""
# {index}: {change.summary.replace(chr(10), " ")}
{state_function("read_state", change.probe, as_root=change.probe_sudo)}
event {Event.BEGIN} {index} ''
state=$(read_state)
{_only_where_needed(index, change) if change.depends_on else _refuse_drift(index, change) + _run(index, change)}
event {Event.DONE} {index} ''
"""


def _refuse_drift(index: int, change: Change) -> str:
    return f"""if [ "$state" != {quote(change.before)} ]; then event {Event.DRIFT} {index} "$state"; exit 3; fi
"""


def _only_where_needed(index: int, change: Change) -> str:
    """What earlier changes have left may be as wanted, or what this step refuses."""
    return f"""case $state in
'{REFUSED} '*) event {Event.FAILED} {index} "0 ${{state#{REFUSED} }}"; exit 4 ;;
esac
if [ "$state" != {quote(change.after)} ]; then
{_run(index, change)}
fi"""


def _run(index: int, change: Change) -> str:
    tag = "END_" + hashlib.sha256(change.script.encode()).hexdigest()[:16]
    root = "by_root " if change.sudo else ""
    return f"""{root}timeout -k 5 {change.deadline_s:g} /bin/sh -eu <<'{tag}'
{change.script}
{tag}
status=$?
if [ "$status" -ne 0 ]; then event {Event.FAILED} {index} "$status $(named)"; exit 4; fi
state=$(read_state)
if [ "$state" != {quote(change.after)} ]; then event {Event.UNCONVERGED} {index} "$state"; exit 5; fi"""
