"""Everything that tells a rank where it is leads to one address of its host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts, Interface
from playbooks.argv import options
from playbooks.checks.base import ON_HOST, Priority, nodes_of, of_each, skip
from playbooks.checks.stored import missing_fact
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "net.one_address"
PRIORITY = Priority.P1
WHY = "libraries that choose different interfaces connect in halves: some pairs wait until they time out"

ADDRESSES = ("VLLM_HOST_IP", "HOST_IP", "RAY_NODE_IP_ADDRESS")
INTERFACES = (
    "GLOO_SOCKET_IFNAME",
    "NCCL_SOCKET_IFNAME",
    "TP_SOCKET_IFNAME",
    "NVSHMEM_BOOTSTRAP_UID_SOCKET_IFNAME",
    "UCX_NET_DEVICES",
)
HEAD_OPTIONS = ("--data-parallel-address", "--master-addr")
_REQUIRED = "every variable leads to the one address that the plan gives the host"
_REMEDY = "set fabric_interface of the host in inventory/hosts.yaml, and leave these variables to bringup"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if nodes_of(needs) < 2:
        return (skip(ID, "", "one host: ranks talk over loopback"),)
    known, unknown = of_each(facts, needs, lambda host: host.network)
    look = f"{ON_HOST}ip -br addr"
    unread = tuple(missing_fact(ID, host, fact, _REQUIRED, look) for host, fact in unknown.items())
    told = tuple(
        of_host(one, known[one.host].interfaces, facts[one.host], head=one.host == needs.head)
        for one in needs.hosts
        if one.host in known
    )
    return (*unread, *told)


def of_host(needs: HostRequirements, there: tuple[Interface, ...], facts: HostFacts, *, head: bool) -> Finding:
    said = {**{name: value for name, value in needs.env if name in (*ADDRESSES, *INTERFACES) and value}}
    if not said:
        return skip(ID, needs.host, "the plan sets no variable of an address or interface")
    expected = needs.address or next((said[name] for name in ADDRESSES if name in said), None)
    wrong = [*wrong_addresses(needs, said, expected, there, head=head), *wrong_interfaces(said, expected, there, facts)]
    if wrong:
        return Finding(ID, Status.FAIL, needs.host, "; ".join(wrong), _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, needs.host, f"{', '.join(said)} lead to {expected or 'one interface'}")


def wrong_addresses(
    needs: HostRequirements, said: Mapping[str, str], expected: str | None, there: tuple[Interface, ...], *, head: bool
) -> Iterator[str]:
    own = {address for one in there for address in one.addresses}
    for name in ADDRESSES:
        if name in said and expected is not None and said[name] != expected:
            yield f"{name}={said[name]}, not {expected}"
        elif name in said and said[name] not in own:
            yield f"{name}={said[name]}, which no interface of this host has"
    told = options(needs.argv)
    for option in HEAD_OPTIONS if head else ():
        if told.get(option) and told[option] not in own:
            yield f"{option} {told[option]}, which no interface of the head has"


def wrong_interfaces(
    said: Mapping[str, str], expected: str | None, there: tuple[Interface, ...], facts: HostFacts
) -> Iterator[str]:
    by_name = {one.name: one for one in there}
    for name in INTERFACES:
        names = devices(said.get(name, ""), facts)
        missing = [one for one in names if not any(known.startswith(one) for known in by_name)]
        if missing:
            yield f"{name}={said[name]}, and there is no interface {missing[0]!r}"
            continue
        owned = [one for one in by_name.values() if any(one.name.startswith(prefix) for prefix in names)]
        if owned and expected and name != "UCX_NET_DEVICES" and not any(expected in one.addresses for one in owned):
            yield f"{name}={said[name]}, which does not have {expected}"


def devices(text: str, facts: HostFacts) -> list[str]:
    """Interfaces that a variable names; exclusions (`^lo`) name none. RDMA devices count by their interfaces."""
    if text.startswith("^") or text == "all":
        return []
    names = [part.strip().lstrip("=").partition(":")[0] for part in text.split(",") if part.strip()]
    rdma = () if isinstance(facts.rdma, Unknown) or not is_known(facts.rdma) else facts.rdma
    known = {one.name for one in rdma}
    return [name for name in names if name not in known and not name.startswith(("mlx", "bnxt_re", "ionic", "irdma"))]
