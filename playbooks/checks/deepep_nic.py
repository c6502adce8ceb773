from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts, RdmaDevice
from inventory.quoting import quote
from playbooks.checks.base import Priority, skip
from playbooks.checks.interconnect import all2all
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "deepep.nic"
PRIORITY = Priority.P1
WHY = "low-latency kernels of DeepEP drive the NIC from the GPU, which only the driver of mlx5 devices can"

BACKEND = "deepep_low_latency"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if all2all(needs) != BACKEND:
        return skip(ID, facts.host, f"the plan does not use {BACKEND}")
    if not is_known(facts.rdma):
        return skip(ID, facts.host, f"the RDMA devices could not be read: {facts.rdma}")
    told = [one for one in facts.rdma if driver_of(one)]
    if not told:
        return skip(ID, facts.host, "no RDMA device tells its driver")
    other = [f"{one.name} has {driver_of(one)}" for one in told if not driver_of(one).startswith("mlx5")]
    if other:
        required = f"mlx5_core on every RDMA device for {BACKEND}"
        remedy = f"another backend: --all2all-backend in the recipe for hosts like {quote(facts.host)}"
        return Finding(ID, Status.FAIL, facts.host, "; ".join(other), required, remedy)
    return Finding(ID, Status.PASS, facts.host, f"{len(told)} devices of mlx5")


def driver_of(device: RdmaDevice) -> str:
    """The module, or by the device's name where that is the driver's own."""
    return device.driver or ("mlx5_core" if device.name.startswith("mlx5_") else "")
