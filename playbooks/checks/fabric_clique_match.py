"""All trays of a plan over NVLink are in one domain and partition."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.gpu import commands
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_value, odd_ones, skip
from playbooks.checks.devices import planned, platform
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "fabric.clique_match"
PRIORITY = Priority.P0
WHY = "only GPUs of one cluster and clique share memory over NVLink; between others it fails to open"

ZERO = "00000000-0000-0000-0000-000000000000"
_REQUIRED = "one cluster UUID that is not zero, and one clique, on all GPUs of all hosts"
_LOOK = f"{ON_HOST}{commands.CLIQUE}"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.mnnvl is False:
        return (skip(ID, "", "the plan uses no NVLink between hosts"),)
    cliques = {
        one.host: sorted({clique(gpu.health.fabric_cluster, gpu.health.fabric_clique) for gpu in gpus})
        for one in needs.hosts
        if one.host in facts and (gpus := planned(facts[one.host], one)) and may_join(facts[one.host], needs)
    }
    untold = [host for host, found in cliques.items() if "" in found]
    if not cliques or (untold and not needs.mnnvl):
        return (skip(ID, "", "the plan does not tell that it uses NVLink between hosts, nor do the GPUs"),)
    if untold:
        observed = f"no cluster UUID is told on {', '.join(untold)}"
        return (Finding(ID, Status.UNKNOWN, "", observed, _REQUIRED, _LOOK),)
    return compare({host: ", ".join(found) for host, found in cliques.items()})


def may_join(facts: HostFacts, needs: Requirements) -> bool:
    """Where the plan does not tell, only trays of a rack can mean it."""
    return bool(needs.mnnvl) or platform(facts) == "tray"


def clique(cluster: str | None, number: str | None) -> str:
    """Empty where it is not told."""
    return f"cluster {cluster} clique {number or '?'}" if cluster else ""


def compare(cliques: Mapping[str, str]) -> tuple[Finding, ...]:
    unset = [host for host, said in cliques.items() if ZERO in said]
    if unset:
        remedy = f"{_LOOK}  # IMEX that is connected is no NVLink: leave these hosts out, or plan for InfiniBand"
        observed = f"cluster UUID zero: {by_value({host: cliques[host] for host in unset})}"
        return tuple(Finding(ID, Status.FAIL, host, observed, _REQUIRED, remedy) for host in unset)
    if len(set(cliques.values())) > 1 or any(", " in said for said in cliques.values()):
        remedy = f"choose hosts of one NVLink domain; odd are {', '.join(odd_ones(cliques)) or 'GPUs of one host'}"
        return (Finding(ID, Status.FAIL, "", by_value(cliques), _REQUIRED, remedy),)
    return (Finding(ID, Status.PASS, "", by_value(cliques)),)
