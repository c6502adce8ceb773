"""What is odd about the links of a host: NVLink's services, the limits and the nearness of its NICs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inventory.facts.base import is_known
from inventory.facts.host import Fabric, Gpus, HostFacts
from launch.console.sizes import size

TRAY = re.compile(r"\bGB[23]00\b")
"""GPUs whose NVLink leaves the host, which takes IMEX."""


def of_fabric(facts: HostFacts) -> Iterator[str]:
    """Where the host has GPUs: without any, what is installed for them is of no use, and no fault."""
    if is_known(facts.fabric) and is_known(facts.gpus) and facts.gpus.devices:
        yield from _of_manager(facts.fabric, facts.gpus)
        yield from _of_imex(facts.fabric, facts.gpus)


def _of_manager(fabric: Fabric, gpus: Gpus) -> Iterator[str]:
    if fabric.manager == "failed" or (fabric.switches and fabric.manager not in {None, "active", "activating"}):
        yield f"fabric manager {fabric.manager}"
    if fabric.manager == "active" and fabric.manager_version and gpus.driver not in {None, fabric.manager_version}:
        yield f"fabric manager {fabric.manager_version}, not the driver's {gpus.driver}"


def _of_imex(fabric: Fabric, gpus: Gpus) -> Iterator[str]:
    tray = any(TRAY.search(gpu.name) for gpu in gpus.devices)
    if fabric.imex == "failed" or (tray and fabric.imex not in {None, "active", "activating"}):
        yield f"IMEX {fabric.imex}: no NVLink to other trays"
    domain = fabric.imex_domain
    if domain is None:
        return
    versions = sorted({node.version for node in domain.nodes if node.version})
    if len(versions) > 1:
        yield f"IMEX of several versions in one domain: {', '.join(versions)}"
    away = [node.address for node in domain.nodes if node.state != "READY"]
    if away:
        yield f"IMEX node {', '.join(away)} not ready"


def of_limits(facts: HostFacts) -> Iterator[str]:
    """RDMA registers memory, which counts as locked. A unit of systemd has limits of its own, other ranks ours."""
    if not (is_known(facts.rdma) and facts.rdma and is_known(facts.software) and not facts.software.systemd):
        return
    root = is_known(facts.system) and facts.system.uid == 0 and not facts.software.container
    most = facts.limits.locked_memory.hard if is_known(facts.limits) else None
    if most is not None and not root:
        yield f"locked memory at most {size(most)}, too little for RDMA"


def of_distances(gpus: Gpus) -> Iterator[str]:
    """GPUs that are far from every NIC, where others of the host are near one."""
    linked = {one.gpu for one in gpus.links if isinstance(one.to, str)}
    far = [str(one) for one in sorted(linked) if not gpus.nearest_nics(one)]
    if far and len(far) < len(linked):
        yield f"GPU {','.join(far)} near no NIC"
