"""From the hosts that have files verified to those that lack them: the one place that calls the spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from inventory.errors import raise_all
from inventory.quoting import quote
from launch.spread.scripts import Post, end_script
from launch.spread.spread import Delivery, spread

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.spread.told import Told
    from playbooks.lock import Owner

END_S = 60.0
MARK = "run "


def distribute(
    fleet: Fleet, delivery: Delivery, *, owner: Owner | None, report: Callable[[Mapping[str, Told]], None]
) -> None:
    """Every target has every file of the manifest, verified, and the manifest. Raises why not."""
    outcomes = spread(fleet, delivery, owner=owner, report=report)
    raise_all([one.error for host, one in outcomes.items() if one.error and host in delivery.targets])


def end_spreads(fleet: Fleet) -> None:
    """End what an earlier run's spread left going on: it would lend for minutes, and the next one takes it over."""

    def one(transport: Transport) -> None:
        state_dir = fleet.state_dirs[transport.host]
        for name in _runs(transport, state_dir):
            post = Post(transport.host, state_dir, "", "", name)
            transport.run(end_script(post, forget=False), timeout=END_S)

    fleet.each(one)


def _runs(transport: Transport, state_dir: str) -> list[str]:
    listed = f'for one in */process; do echo "{MARK}${{one%/process}}"; done'
    script = f"if cd {quote(state_dir)}/spread 2>/dev/null; then {listed}; fi"
    lines = transport.run(script, timeout=END_S).text.splitlines()
    names = (line.removeprefix(MARK) for line in lines if line.startswith(MARK))
    return [name for name in names if name.isalnum()]
