"""Which value of a variable counts: flag before plan before inventory before what is there anyway."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.ambient import environment_of, rivals
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.launch_context import option, place_of
from playbooks.finding import Finding, Status
from playbooks.requirements import Container, HostRequirements, Requirements

ID = "ctl.env_precedence"
PRIORITY = Priority.P1
WHY = "weights are fetched into one folder and looked for in another when two values of one name are about"

_REQUIRED = "one value of each name: the plan's"
_LOOK = f"{ON_HOST}systemctl show-environment; systemctl --user show-environment; env"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    return tuple(_of_host(facts[one.host], one, needs.container) for one in needs.hosts if one.host in facts)


def _of_host(facts: HostFacts, needs: HostRequirements, container: Container | None) -> Finding:
    ambient, planned = environment_of(facts), dict(needs.env)
    if not planned:
        return skip(ID, facts.host, "the plan does not tell its environment")
    if ambient is None:
        return skip(ID, facts.host, "the environment where ranks start was not looked at")
    found = rivals(ambient, planned)
    if not found:
        return Finding(ID, Status.PASS, facts.host, f"no other value of the {len(planned)} planned variables")
    told = "; ".join(
        f"{name} is {value!r} in {place_of(facts)}, the plan says {planned[name]!r}" for name, value in found.items()
    )
    winners = [name for name in found if wins(name, facts, container)]
    if winners:
        remedy = f"pass it: docker run -e {winners[0]}={planned[winners[0]]}"
        return Finding(
            ID, Status.FAIL, facts.host, f"{told}; {', '.join(winners)} of the image wins", _REQUIRED, remedy
        )
    return Finding(ID, Status.WARN, facts.host, f"{told}; the plan's counts for the ranks", _REQUIRED, _LOOK)


def wins(name: str, facts: HostFacts, container: Container | None) -> bool:
    """A value of the image counts unless the plan's is given to the container."""
    if container is None or container.arguments is None:
        return False
    if not (is_known(facts.context) and facts.context.where == "container"):
        return False
    words = container.arguments
    if option(words, "--env-file"):
        return False
    return name not in {value.partition("=")[0] for flag in ("-e", "--env") for value in option(words, flag)}
