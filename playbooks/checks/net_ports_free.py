from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts, Listener
from playbooks.checks.base import ON_HOST, Priority, pids_of, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "net.ports_free"
PRIORITY = Priority.P0
WHY = "a second server on a taken port may start without an error and answer every other request"

VLLM_PORTS = (8000, 29550, 29501)  # its own choice for HTTP, for ranks that join, and for the store of several hosts


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.ports and needs.argv:
        return skip(ID, facts.host, "the plan listens on no port here")
    planned = needs.ports or VLLM_PORTS  # a plan without commands tells no ports
    ports = ", ".join(map(str, planned))
    required = f"TCP ports {ports} are free"
    look = f"{ON_HOST}sudo ss -Hltnp"
    if not is_known(facts.listeners):
        return unread(ID, facts.host, facts.listeners, required, look)
    taken = [one for one in facts.listeners if one.port in planned and not ours(one, needs.own_pids)]
    if not taken:
        return Finding(ID, Status.PASS, facts.host, f"nothing else listens on {ports}")
    observed = "; ".join(f"{one.address}:{one.port} is taken by {owner(one)}" for one in taken)
    remedy = f"{ON_HOST}sudo ss -Hltnp 'sport = :{taken[0].port}'  # stop its owner, or choose another port"
    return Finding(ID, Status.FAIL, facts.host, observed, required, remedy)


def ours(listener: Listener, own_pids: tuple[int, ...]) -> bool:
    """A listener of the deployment being replaced. Without a known owner it is not ours."""
    return not pids_of(listener).isdisjoint(own_pids)


def owner(listener: Listener) -> str:
    return repr(listener.process) if listener.process else "a process that cannot be told"
