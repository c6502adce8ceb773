from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.facts.host import HostFacts, Interface, Listener, Route
from playbooks.checks import net_head_addr, net_iface, net_mtu_equal, net_ports_ephemeral, net_ports_free
from playbooks.finding import Status
from tests.unit.playbooks.checks.cases import (
    NO_TOOL,
    Case,
    GangCase,
    assert_gang,
    assert_host,
    gang_table,
    table,
)
from tests.unit.playbooks.checks.gang import (
    alone,
    change,
    gang_needs,
    network,
    tray,
    tray_needs,
    trays,
    with_host,
)

ALONE = alone(tray_needs())


def listening(port: int, process: str | None) -> HostFacts:
    return replace(tray(), listeners=(Listener("::", port, process),))


def fabric(**fields: object) -> dict[str, HostFacts]:
    """The gang with some fields of tray2's fabric interface changed."""
    interfaces = network("tray2").interfaces
    changed = (*interfaces[:2], replace(interfaces[2], **fields))  # type: ignore[arg-type]
    return trays() | {"tray2": change(tray("tray2"), "network", interfaces=changed)}


def routes(*to_head: Route) -> dict[str, HostFacts]:
    return trays() | {"tray2": change(tray("tray2"), "network", routes=to_head)}


UNREAD = trays() | {"tray2": replace(tray("tray2"), network=NO_TOOL)}
LOST = {"tray1": tray("tray1")}


@table(
    Case("free", Status.PASS),
    Case("taken", Status.FAIL, listening(8000, "nginx(12)"), says=(":::8000 is taken by 'nginx(12)'", "ss -Hltnp")),
    Case("taken by nobody knows whom", Status.FAIL, listening(29550, None), says=("cannot be told",)),
    Case(
        "ours, being replaced",
        Status.PASS,
        listening(8000, "VLLM::APIServer(4711)"),
        replace(tray_needs(), own_pids=(4711,)),
    ),
    Case("unknown owner is not ours", Status.FAIL, listening(8000, None), replace(tray_needs(), own_pids=(4711,))),
    Case("another port", Status.PASS, listening(8001, "nginx(12)")),
    Case(
        "a headless command listens on none",
        Status.SKIP,
        needs=replace(tray_needs("tray2"), argv=("vllm", "serve", "m", "--headless")),
        facts=tray("tray2"),
    ),
    Case("a plan without commands: vLLM's own", Status.PASS, needs=replace(tray_needs(), ports=()), says=()),
    Case("vLLM's own are taken", Status.FAIL, listening(29550, None), replace(tray_needs(), ports=()), says=("29550",)),
    Case("unreadable", Status.UNKNOWN, replace(tray(), listeners=NO_TOOL)),
)
def test_ports_free(case: Case) -> None:
    assert_host(net_ports_free, case)


@table(
    Case("outside", Status.PASS),
    Case(
        "inside",
        Status.WARN,
        needs=replace(tray_needs(), ports=(8000, 40000)),
        says=("port 40000 among them", "ip_local_reserved_ports=40000"),
    ),
    Case("at the edge", Status.WARN, needs=replace(tray_needs(), ports=(60999,))),
    Case("no port planned", Status.SKIP, needs=replace(tray_needs(), ports=())),
    Case("unreadable", Status.UNKNOWN, replace(tray(), network=NO_TOOL)),
)
def test_ports_ephemeral(case: Case) -> None:
    assert_host(net_ports_ephemeral, case)


@gang_table(
    GangCase("good", Status.PASS, blamed=("tray1", "tray2")),
    GangCase("alone", Status.SKIP, needs=ALONE),
    GangCase("down", Status.FAIL, fabric(state="down"), blamed=("tray2",), says=("'enP5p9s0' is down", "ip link set")),
    GangCase("state not told", Status.WARN, fabric(state="unknown"), blamed=("tray2",)),
    GangCase(
        "renamed", Status.FAIL, fabric(name="ens1"), blamed=("tray2",), says=("no interface 'enP5p9s0'", "'ens1'")
    ),
    GangCase("address elsewhere", Status.FAIL, fabric(addresses=()), says=("no interface of this host has it",)),
    GangCase(
        "address on the control interface",
        Status.FAIL,
        needs=with_host(gang_needs(), "tray2", address="192.0.2.7"),
        blamed=("tray2",),
        says=("it is on 'eth0'",),
    ),
    GangCase(
        "container bridge",
        Status.FAIL,
        needs=with_host(gang_needs(), "tray1", interface="docker0"),
        blamed=("tray1",),
        says=("cannot be reached",),
    ),
    GangCase(
        "loopback",
        Status.FAIL,
        needs=with_host(gang_needs(), "tray2", interface="lo", address="127.0.0.1"),
        blamed=("tray2",),
    ),
    GangCase(
        "no address planned",
        Status.FAIL,
        needs=with_host(gang_needs(), "tray2", address=None),
        blamed=("tray2",),
        says=("fabric_address",),
    ),
    GangCase(
        "route by another interface",
        Status.FAIL,
        routes(Route("10.10.0.11", "eth0", "192.0.2.7")),
        blamed=("tray2",),
        says=("'eth0' from 192.0.2.7, not 'enP5p9s0'", "ip route get 10.10.0.11"),
    ),
    GangCase("route not read", Status.UNKNOWN, routes(), blamed=("tray2",)),
    GangCase("unreadable", Status.UNKNOWN, UNREAD, blamed=("tray2",)),
    GangCase("no facts", Status.UNKNOWN, LOST, blamed=("tray2",)),
)
def test_iface(case: GangCase) -> None:
    assert_gang(net_iface, case)


@pytest.mark.parametrize("name", ["lo", "docker0", "virbr0", "veth12ab", "cni0", "br-0123456789ab", "usb0"])
def test_interfaces_that_stay_inside_the_host_are_refused(name: str) -> None:
    wrong = net_iface.fault(network("tray1"), name, "10.10.0.11")
    assert wrong is not None
    assert wrong[0] is Status.FAIL


@pytest.mark.parametrize("name", ["br0", "bond0", "ib0", "eno1", "lab0", "usbnet"])
def test_other_names_are_looked_up(name: str) -> None:
    ours = replace(network("tray1"), interfaces=(Interface(name, "up", 1500, ("10.10.0.11",), None),))
    assert net_iface.fault(ours, name, "10.10.0.11") is None


def head_at(address: str | None) -> GangCase:
    return GangCase("", Status.FAIL, needs=replace(gang_needs(), head_address=address))


@gang_table(
    GangCase("good", Status.PASS, blamed=("tray1",), says=("'enP5p9s0'",)),
    GangCase("alone", Status.SKIP, needs=ALONE),
    GangCase("none", Status.FAIL, needs=head_at(None).needs),
    GangCase("loopback", Status.FAIL, needs=head_at("127.0.0.1").needs, says=("loopback",)),
    GangCase("Debian's name for itself", Status.FAIL, needs=head_at("127.0.1.1").needs),
    GangCase("wildcard", Status.FAIL, needs=head_at("0.0.0.0").needs),  # noqa: S104
    GangCase("IPv6 loopback", Status.FAIL, needs=head_at("::1").needs),
    GangCase("a name", Status.FAIL, needs=head_at("tray1.example").needs, says=("resolve differently",)),
    GangCase("an address of another host", Status.FAIL, needs=head_at("10.10.0.12").needs, blamed=("tray1",)),
    GangCase("unreadable", Status.UNKNOWN, trays() | {"tray1": replace(tray(), network=NO_TOOL)}),
    GangCase("no facts of the head", Status.UNKNOWN, {"tray2": tray("tray2")}, blamed=("tray1",)),
)
def test_head_address(case: GangCase) -> None:
    assert_gang(net_head_addr, case)


def test_an_ipv6_head_is_a_warning() -> None:
    interfaces = (Interface("enP5p9s0", "up", 9000, ("2001:db8::11",), None),)
    facts = trays() | {"tray1": change(tray(), "network", interfaces=interfaces)}
    (finding,) = net_head_addr.check(facts, replace(gang_needs(), head_address="2001:db8::11"))
    assert finding.status is Status.WARN


@gang_table(
    GangCase("9000 everywhere", Status.PASS, says=("9000 on tray1, tray2",)),
    GangCase("alone", Status.SKIP, needs=ALONE),
    GangCase("1500 on one", Status.FAIL, fabric(mtu=1500), says=("9000", "1500", "on tray2: sudo ip link set")),
    GangCase("no such interface", Status.UNKNOWN, fabric(name="ens1"), blamed=("tray2",)),
    GangCase("unreadable", Status.UNKNOWN, UNREAD, blamed=("tray2",)),
    GangCase("no facts", Status.UNKNOWN, LOST, blamed=("tray2",)),
)
def test_mtu(case: GangCase) -> None:
    assert_gang(net_mtu_equal, case)


def test_1500_on_all_hosts_passes() -> None:
    interfaces = tuple(replace(one, mtu=1500) for one in network("tray1").interfaces)
    facts = {host: change(one, "network", interfaces=interfaces) for host, one in trays().items()}
    (finding,) = net_mtu_equal.check(facts, gang_needs())
    assert finding.status is Status.PASS
