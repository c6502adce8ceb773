"""A verb that changes a deployment: locked, and written into the history of its hosts, however it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from launch.running import history
from launch.running.history import SERVING, STOPPED, Entry, entry_of
from playbooks.control import now

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from launch.console.report import Report
    from launch.watching.watch import Ready
    from playbooks.lock import Owner

INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Change:
    """What is being done; whoever does it tells here what is worth keeping. `generation`: that is made current."""

    verb: str
    generation: str
    ready: Ready | None = None
    note: str = ""


@contextmanager
def recorded(
    fleet: Fleet, name: str, hosts: Sequence[str], owner: Owner, change: Change, report: Report
) -> Iterator[Change]:
    """Leave a line in the history of every host when the block ends. Only a block that ends well served, or stopped."""
    outcome = STOPPED if change.verb == "stop" else SERVING
    at = now()
    try:
        yield change
    except BaseException as error:
        outcome = error.id if isinstance(error, BringupError) else INTERRUPTED
        raise
    finally:
        entry = entry_of(owner, at, change.verb, change.generation, outcome, note=change.note)
        forgot = history.keep(fleet, name, {host: _of_host(entry, change.ready, host) for host in hosts})
        if forgot and outcome in {SERVING, STOPPED}:
            report.say(f"{', '.join(forgot)}: the history could not be written", style="yellow")


def _of_host(entry: Entry, ready: Ready | None, host: str) -> Entry:
    if ready is None:
        return entry
    return replace(entry, ready_s=round(ready.seconds, 1), warm=ready.warm, phases=ready.phases.get(host, {}))
