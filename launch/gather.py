"""Gather the facts of all hosts at once, each asked for its routes to the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.facts.gather import Asked, gather
from launch.addresses import target_of

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport


def gather_all(fleet: Fleet) -> tuple[dict[str, HostFacts], dict[str, BringupError]]:
    """Return the facts of the hosts that answered, and the errors of those that did not."""

    def one(transport: Transport) -> HostFacts:
        others = (target_of(host) for name, host in fleet.hosts.items() if name != transport.host)
        asked = Asked(state_dir=fleet.state_dirs[transport.host], addresses=tuple(dict.fromkeys(others)))
        return gather(transport, asked)

    outcomes = fleet.each(one)
    errors = {host: outcome for host, outcome in outcomes.items() if isinstance(outcome, BringupError)}
    facts = {host: outcome for host, outcome in outcomes.items() if not isinstance(outcome, BringupError)}
    return facts, errors
