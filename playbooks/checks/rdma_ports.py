from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_value, odd_ones, skip, unread
from playbooks.checks.interconnect import is_up, missing_names, named_ports
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "rdma.ports"
PRIORITY = Priority.P1
WHY = "a port that is down is left out by NCCL without a word, or ends it: one rail less, or no RDMA at all"

_REQUIRED = "every planned RDMA port ACTIVE and LinkUp, with the same rate on all hosts"
_LOOK = f"{ON_HOST}grep . /sys/class/infiniband/*/ports/*/state /sys/class/infiniband/*/ports/*/phys_state"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if not needs.rdma:
        return (skip(ID, "", "the plan does not tell that it uses RDMA"),)
    hosts = {one.host: (facts[one.host], one) for one in needs.hosts if one.host in facts}
    found = [of_host(*pair) for pair in hosts.values()]
    rates = {host: rate for host, pair in hosts.items() if (rate := rates_of(*pair))}
    if len(set(rates.values())) > 1:
        remedy = f"{_LOOK}  # look at cables and switch ports of {', '.join(odd_ones(rates))}"
        found.append(Finding(ID, Status.WARN, "", by_value(rates), _REQUIRED, remedy))
    return tuple(found)


def of_host(facts: HostFacts, needs: HostRequirements) -> Finding:
    if isinstance(facts.rdma, Unknown):
        return unread(ID, facts.host, facts.rdma, _REQUIRED, _LOOK)
    missing, ports = missing_names(facts, needs), named_ports(facts, needs)
    if missing or not ports:
        observed = f"no device {', '.join(missing)}" if missing else "no RDMA port"
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, f"{ON_HOST}ls /sys/class/infiniband")
    down = [f"{device.name} port {p.number}: {p.state}, {p.physical_state}" for device, p in ports if not is_up(p)]
    if not down:
        return Finding(ID, Status.PASS, facts.host, f"{len(ports)} ports are active")
    named = "NCCL_IB_HCA" in dict(needs.env)
    status = Status.FAIL if named or len(down) == len(ports) else Status.WARN
    remedy = f"{_LOOK}  # cable, transceiver or switch port"
    return Finding(ID, status, facts.host, "; ".join(down), _REQUIRED, remedy)


def rates_of(facts: HostFacts, needs: HostRequirements) -> str:
    """Of the ports that are up: `4 x 400 Gb/sec (4X NDR)`; empty where none is told."""
    rates = [port.rate for _, port in named_ports(facts, needs) if is_up(port) and port.rate]
    return ", ".join(f"{rates.count(rate)} x {rate}" for rate in sorted(set(rates)))
