from __future__ import annotations

from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority
from playbooks.checks.stored import complete_folder
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "sto.lfs_pointer"
PRIORITY = Priority.P1
WHY = "a clone without Git LFS leaves three lines of text where each file of weights should be"

_REQUIRED = "the weights themselves, no pointers to them"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    folder = complete_folder(ID, facts, needs, _REQUIRED)
    if isinstance(folder, Finding):
        return folder
    if not folder.pointers:
        return Finding(ID, Status.PASS, facts.host, "no pointers of Git LFS among the weights")
    observed = f"{', '.join(folder.pointers[:3])}: {len(folder.pointers)} pointers of Git LFS"
    remedy = f"{ON_HOST}remove the folder and fetch it with `hf download`; git clone needs `git lfs pull`"
    return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, remedy)
