"""Whether ranks can read the weights where they run: links and mounts included."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts, WeightFolder
from playbooks.checks.base import ON_HOST, Priority
from playbooks.checks.mounted import is_below, mounted
from playbooks.checks.stored import complete_folder
from playbooks.finding import Finding, Status
from playbooks.requirements import Container, HostRequirements, Requirements

ID = "sto.path_in_context"
PRIORITY = Priority.P0
WHY = "weights that are on the disk but not where the rank looks are downloaded again, or the start ends"

_REQUIRED = "config.json and everything that links lead to can be read where the ranks run"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    return tuple(of_host(facts[one.host], one, needs.container) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, needs: HostRequirements, container: Container | None) -> Finding:
    folder = complete_folder(ID, facts, needs, _REQUIRED)
    if isinstance(folder, Finding):
        return folder
    wrong = fault(folder) or (fault_in_container(folder, container) if container else None)
    if wrong is None:
        return Finding(ID, Status.PASS, facts.host, f"{folder.path} can be read where the ranks run")
    remedy = f"{ON_HOST}chmod -R a+rX the folder; mount the folder that holds the files, not only the links to them"
    return Finding(ID, Status.FAIL, facts.host, wrong, _REQUIRED, remedy)


def fault(folder: WeightFolder) -> str | None:
    if not folder.files:
        return f"{folder.path} is empty: a mount that did not happen looks like this"
    if "config.json" not in {one.path for one in folder.files}:
        return f"{folder.path} has no config.json"
    if folder.unreadable:
        return f"{folder.unreadable[0]} cannot be read by the login user, {len(folder.unreadable)} in all"
    return None


def fault_in_container(folder: WeightFolder, container: Container) -> str | None:
    if container.arguments is None:
        return None
    sources = mounted(container.arguments)
    if not is_below(folder.path, sources):
        return f"no mount of the container holds {folder.path}; mounted are {', '.join(sources) or 'none'}"
    for link in folder.outside:
        target = link.partition(" -> ")[2]
        if not is_below(target, sources):
            return f"{link} leads out of what is mounted into the container"
    return None
