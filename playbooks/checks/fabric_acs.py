"""GPUs without NVLink copy to each other over PCIe: access control on the bridges above them sends that astray."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.devices import is_amd, planned
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "fabric.acs"
PRIORITY = Priority.P2
WHY = "copies between GPUs are sent through the IOMMU and hang or return wrong data"

DIVERTING = frozenset({"SrcValid", "ReqRedir"})
_REQUIRED = "no ACS (SrcValid, ReqRedir) on bridges above GPUs that talk over PCIe"
_REMEDY = (
    f"{ON_HOST}switch ACS off in the firmware, or boot with iommu=pt; "
    "a stop-gap is NCCL_P2P_DISABLE=1 with --disable-custom-all-reduce"
)


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    width = needs.layout.tensor_parallel
    return tuple(of_host(facts[one.host], one, width) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, needs: HostRequirements, width: int | None) -> Finding:
    gpus = planned(facts, needs)
    if not gpus or is_amd(facts):
        return skip(ID, facts.host, "no planned GPU of NVIDIA is known here")
    if isinstance(facts.bridges, Unknown):
        return skip(ID, facts.host, f"the bridges' access control is not told: {facts.bridges}")
    above = [one for one in facts.bridges if set(one.acs) >= DIVERTING]
    if not above:
        return Finding(ID, Status.PASS, facts.host, "no bridge above a GPU diverts copies")
    observed = f"ACS is on at {', '.join(one.address for one in above[:4])}" + ("" if len(above) < 5 else ", ...")
    if has_nvlink(facts):
        return Finding(ID, Status.PASS, facts.host, f"{observed}, but the GPUs talk over NVLink")
    status = Status.FAIL if (width or 1) > 1 else Status.WARN
    return Finding(ID, status, facts.host, f"{observed}; the GPUs have no NVLink", _REQUIRED, _REMEDY)


def has_nvlink(facts: HostFacts) -> bool:
    return is_known(facts.gpus) and any(link.kind.startswith("NV") for link in facts.gpus.links)
