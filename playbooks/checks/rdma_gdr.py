"""NICs read and write GPU memory themselves: by a module that both sides know, or by the kernel's dmabuf."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import Driver, HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import is_amd, plans_no_gpu
from playbooks.checks.interconnect import uses_deepep
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "rdma.gdr"
PRIORITY = Priority.P1
WHY = (
    "without it every message between hosts goes through host memory: 10 to 20 times slower, and DeepEP does not start"
)

PEERS = ("nvidia_peermem", "nv_peer_mem")
DMABUF_SINCE = (5, 12)
_REQUIRED = "nvidia_peermem that the RDMA stack knows, or dmabuf (kernel 5.12 with the open module)"
_REMEDY = (
    f"{ON_HOST}sudo modprobe nvidia-peermem; ls /sys/kernel/mm/memory_peers"
    "; where it stays empty, load it again after the NIC's driver"
)


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if not needs.rdma:
        return (skip(ID, "", "the plan does not tell that it uses RDMA"),)
    return tuple(of_host(facts[one.host], one) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, needs: HostRequirements) -> Finding:
    if plans_no_gpu(needs) or is_amd(facts):
        return skip(ID, facts.host, "the plan uses no GPU of NVIDIA here")
    if not is_known(facts.driver) or not is_told(facts.driver):
        return skip(ID, facts.host, "the loaded modules are not told")
    way = way_of(facts, facts.driver)
    if way:
        return Finding(ID, Status.PASS, facts.host, way)
    peer = peer_of(facts.driver)
    observed = f"{peer} is loaded, but /sys/kernel/mm/memory_peers is empty" if peer else "neither peermem nor dmabuf"
    status = Status.FAIL if uses_deepep(needs) else Status.WARN
    return Finding(ID, status, facts.host, observed, _REQUIRED, by_playbook(facts.host, "nvidia", _REMEDY))


def is_told(driver: Driver) -> bool:
    return driver.loaded is not None or driver.open_module is not None


def peer_of(driver: Driver) -> str | None:
    return next((name for name in PEERS if name in (driver.loaded or ())), None)


def way_of(facts: HostFacts, driver: Driver) -> str | None:
    """How NICs reach the memory of GPUs, in words; None: in no way."""
    peer = peer_of(driver)
    if peer and driver.memory_peers:
        return f"{peer} is loaded, the RDMA stack knows {driver.memory_peers[0]}"
    return "dmabuf: the open module on a kernel of 5.12 or later" if has_dmabuf(facts, driver) else None


def has_dmabuf(facts: HostFacts, driver: Driver) -> bool:
    kernel = re.match(r"(\d+)\.(\d+)", facts.system.kernel) if is_known(facts.system) else None
    return bool(driver.open_module and kernel and (int(kernel[1]), int(kernel[2])) >= DMABUF_SINCE)
