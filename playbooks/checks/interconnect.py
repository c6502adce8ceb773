"""What the plan says of the way between hosts: which NICs NCCL takes, which backend moves tokens between experts."""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts, RdmaDevice, RdmaPort
from playbooks.argv import options
from playbooks.requirements import HostRequirements

ROCE = "Ethernet"


def all2all(needs: HostRequirements) -> str | None:
    """The backend of expert parallelism, by the command or the environment; None where neither names one."""
    return options(needs.argv).get("--all2all-backend") or dict(needs.env).get("VLLM_ALL2ALL_BACKEND")


def uses_deepep(needs: HostRequirements) -> bool:
    return (all2all(needs) or "").startswith("deepep")


def named_ports(facts: HostFacts, needs: HostRequirements) -> tuple[tuple[RdmaDevice, RdmaPort], ...]:
    """The ports that NCCL_IB_HCA allows: all of the host where it is not set."""
    devices = facts.rdma if is_known(facts.rdma) else ()
    every = tuple((device, port) for device in devices for port in device.ports)
    said = dict(needs.env).get("NCCL_IB_HCA", "")
    return tuple(pair for pair in every if allows(said, *pair))


def allows(said: str, device: RdmaDevice, port: RdmaPort) -> bool:
    """NCCL's syntax: `mlx5_0:1,mlx5_1`, `=` for whole names (else beginnings of names), `^` for all but these."""
    words = [word for word in said.lstrip("^=").split(",") if word]
    if not words:
        return True
    exact, inverse = "=" in said[:2], said.startswith("^")
    return any(is_meant(word, device.name, port.number, exact=exact) for word in words) is not inverse


def is_meant(word: str, name: str, number: int, *, exact: bool) -> bool:
    wanted, _, port = word.partition(":")
    fits = name == wanted if exact else name.startswith(wanted)
    return fits and (not port or port == str(number))


def missing_names(facts: HostFacts, needs: HostRequirements) -> tuple[str, ...]:
    """Devices that NCCL_IB_HCA names and the host does not have."""
    said = dict(needs.env).get("NCCL_IB_HCA", "")
    if said.startswith("^") or not is_known(facts.rdma):
        return ()
    words = [word.partition(":")[0] for word in said.lstrip("=").split(",") if word]
    return tuple(word for word in words if not any(one.name.startswith(word) for one in facts.rdma))


def is_up(port: RdmaPort) -> bool:
    """ACTIVE, and the link itself up where that is told."""
    return port.is_active and (not port.physical_state or "LINKUP" in port.physical_state.upper().replace(" ", ""))
