from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip, unread
from playbooks.checks.launch_context import tuned
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "net.ports_ephemeral"
PRIORITY = Priority.P2
WHY = "the kernel may hand a fixed port to some outgoing connection, and the next start finds it taken"

_LOOK = f"{ON_HOST}sysctl net.ipv4.ip_local_port_range net.ipv4.ip_local_reserved_ports"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.ports:
        return skip(ID, facts.host, "the plan listens on no port here")
    required = "fixed ports lie outside the range for outgoing connections"
    if not is_known(facts.network):
        return unread(ID, facts.host, facts.network, required, _LOOK)
    low, high = facts.network.ephemeral_ports
    reserved = facts.network.reserved_ports
    inside = ",".join(str(port) for port in needs.ports if low <= port <= high and not is_in(port, reserved))
    observed = f"outgoing connections use ports {low}-{high}"
    if not inside:
        return Finding(ID, Status.PASS, facts.host, observed)
    by_hand = f"sudo sysctl -w net.ipv4.ip_local_reserved_ports={inside}; or choose other ports"
    remedy = f"{tuned(facts.host)} --model MODEL  # or by hand, on the host: {by_hand}"
    return Finding(ID, Status.WARN, facts.host, f"{observed}, port {inside} among them", required, remedy)


def is_in(port: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= port <= last for first, last in ranges)
