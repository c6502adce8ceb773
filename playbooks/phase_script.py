"""All changes of one host in one phase as one POSIX sh script that reports each of them by an event line.

An event is `<name> TAB <index of the change> TAB <detail>`; the names are the members of `Event`. The script stops
at the first change that drifts, fails or does not converge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum

from inventory.quoting import quote
from playbooks.plan import Change
from playbooks.probes import state_function


class Event(StrEnum):
    BEGIN = "begin"
    DONE = "done"
    DRIFT = "drift"
    FAILED = "failed"
    UNCONVERGED = "unconverged"


_PRELUDE = r"""set -u
cd / || exit 1
event() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$EVENTS"; }
"""


def phase_script(changes: Sequence[Change]) -> str:
    """Render the script; it expects EVENTS to name the file that takes the event lines."""
    return _PRELUDE + "".join(_change(index, change) for index, change in enumerate(changes))


def _change(index: int, change: Change) -> str:
    tag = "END_" + hashlib.sha256(change.script.encode()).hexdigest()[:16]
    root = "sudo -n " if change.sudo else ""
    return f"""
# {index}: {change.summary.replace(chr(10), " ")}
{state_function("read_state", change.probe)}
event {Event.BEGIN} {index} ''
state=$(read_state)
if [ "$state" != {quote(change.before)} ]; then event {Event.DRIFT} {index} "$state"; exit 3; fi
{root}timeout -k 5 {change.deadline_s:g} /bin/sh -eu <<'{tag}'
{change.script}
{tag}
status=$?
if [ "$status" -ne 0 ]; then event {Event.FAILED} {index} "$status"; exit 4; fi
state=$(read_state)
if [ "$state" != {quote(change.after)} ]; then event {Event.UNCONVERGED} {index} "$state"; exit 5; fi
event {Event.DONE} {index} ''
"""
