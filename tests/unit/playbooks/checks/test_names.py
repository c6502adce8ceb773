"""Names, addresses and proxies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import HostFacts, Names, RdmaDevice, RdmaPort, Route
from playbooks.checks import net_hostname, net_iface, net_mtu_equal, net_one_address, net_ports_ephemeral, net_proxy
from playbooks.finding import Status
from playbooks.requirements import HostRequirements, Layout, Requirements
from tests.unit.playbooks.checks.cases import NO_TOOL, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.gang import alone, change, gang_needs, network, tray, tray_needs, trays, with_host

ALONE = alone(tray_needs())
NOT_ASKED = Unknown(Why.NOT_ASKED)


def named(host: str, *addresses: str, line: str = "") -> HostFacts:
    return replace(tray(host), names=Names(addresses, hosts_lines=(line,) if line else ()))


GOOD = {"tray1": named("tray1", "10.10.0.11"), "tray2": named("tray2", "10.10.0.12")}
LOOPED = GOOD | {"tray2": named("tray2", "127.0.1.1", line="127.0.1.1 tray2")}
PINNED = with_host(gang_needs(), "tray2", env=(("GLOO_SOCKET_IFNAME", "enP5p9s0"),))


@gang_table(
    GangCase("reachable", Status.PASS, GOOD, blamed=("tray1", "tray2"), says=("10.10.0.12",)),
    GangCase(
        "loopback", Status.FAIL, LOOPED, blamed=("tray2",), says=("127.0.1.1 tray2", "GLOO_SOCKET_IFNAME", "/etc/hosts")
    ),
    GangCase("IPv6 loopback", Status.FAIL, GOOD | {"tray2": named("tray2", "::1")}, blamed=("tray2",)),
    GangCase("nothing", Status.FAIL, GOOD | {"tray2": named("tray2")}, blamed=("tray2",), says=("nothing",)),
    GangCase("loopback and more", Status.PASS, GOOD | {"tray2": named("tray2", "127.0.1.1", "10.10.0.12")}),
    GangCase("loopback, but pinned", Status.WARN, LOOPED, PINNED, blamed=("tray2",), says=("makes up for it",)),
    GangCase("loopback, alone", Status.WARN, {"tray1": named("tray1", "127.0.1.1")}, ALONE),
    GangCase("unreadable", Status.UNKNOWN, GOOD | {"tray2": replace(tray("tray2"), names=NO_TOOL)}, blamed=("tray2",)),
    GangCase("unreadable, but pinned", Status.PASS, GOOD | {"tray2": replace(tray("tray2"), names=NO_TOOL)}, PINNED),
    GangCase("not asked", Status.SKIP, trays()),
    GangCase("no facts", Status.SKIP, {}),
)
def test_hostname(case: GangCase) -> None:
    assert_gang(net_hostname, case)


def test_the_plan_tells_of_more_hosts_than_are_asked() -> None:
    needs = replace(ALONE, layout=Layout(nodes=2))
    (finding,) = net_hostname.check({"tray1": named("tray1", "127.0.1.1")}, needs)
    assert finding.status is Status.FAIL


def proxied(needs: Requirements, *env: tuple[str, str], control: bool = False) -> Requirements:
    if control:
        return replace(needs, control_env=env)
    return replace(needs, hosts=tuple(replace(one, env=env) for one in needs.hosts))


PROXY = ("http_proxy", "http://proxy.example:3128")
ALL = ("no_proxy", "127.0.0.1,localhost,10.10.0.11,10.10.0.12")


@gang_table(
    GangCase("none", Status.SKIP),
    GangCase("none, in so many words", Status.SKIP, needs=proxied(gang_needs(), ("http_proxy", ""))),
    GangCase("all are spared", Status.PASS, needs=proxied(gang_needs(), PROXY, ALL)),
    GangCase(
        "hosts are not",
        Status.WARN,
        needs=proxied(gang_needs(), PROXY, ("no_proxy", "localhost")),
        blamed=("tray1", "tray2"),
        says=("no_proxy lacks 127.0.0.1, 10.10.0.11, 10.10.0.12", "NO_PROXY=localhost,127.0.0.1,10.10.0.11,10.10.0.12"),
    ),
    GangCase("no no_proxy", Status.WARN, needs=proxied(gang_needs(), ("HTTPS_PROXY", "http://p.example"))),
    GangCase(
        "the control machine",
        Status.WARN,
        needs=proxied(gang_needs(), PROXY, control=True),
        blamed=("",),
        says=("the control machine", "export NO_PROXY="),
    ),
    GangCase(
        "a network", Status.PASS, needs=proxied(gang_needs(), PROXY, ("NO_PROXY", "127.0.0.0/8, localhost, 10.0.0.0/8"))
    ),
    GangCase("everything", Status.PASS, needs=proxied(gang_needs(), PROXY, ("no_proxy", "*"))),
)
def test_proxy(case: GangCase) -> None:
    assert_gang(net_proxy, case)


def told(**variables: str) -> Requirements:
    env = tuple(sorted(variables.items()))
    return with_host(gang_needs(), "tray2", env=env)


@gang_table(
    GangCase("alone", Status.SKIP, needs=ALONE),
    GangCase("nothing set", Status.SKIP),
    GangCase(
        "one address",
        Status.PASS,
        needs=told(VLLM_HOST_IP="10.10.0.12", GLOO_SOCKET_IFNAME="enP5p9s0", NCCL_SOCKET_IFNAME="=enP5p9s0"),
        blamed=("tray2",),
    ),
    GangCase("prefix of a name", Status.PASS, needs=told(NCCL_SOCKET_IFNAME="enP5")),
    GangCase("exclusion", Status.PASS, needs=told(NCCL_SOCKET_IFNAME="^docker,lo")),
    GangCase("RDMA devices", Status.PASS, needs=told(UCX_NET_DEVICES="mlx5_0:1,enP5p9s0")),
    GangCase(
        "another address",
        Status.FAIL,
        needs=told(VLLM_HOST_IP="192.0.2.7"),
        says=("VLLM_HOST_IP=192.0.2.7, not 10.10.0.12",),
    ),
    GangCase(
        "an address of nobody here",
        Status.FAIL,
        needs=with_host(told(VLLM_HOST_IP="10.10.0.99"), "tray2", address=None),
        says=("no interface of this host has",),
    ),
    GangCase("no such interface", Status.FAIL, needs=told(GLOO_SOCKET_IFNAME="ens1"), says=("no interface 'ens1'",)),
    GangCase(
        "the control interface",
        Status.FAIL,
        needs=told(NCCL_SOCKET_IFNAME="eth0"),
        blamed=("tray2",),
        says=("NCCL_SOCKET_IFNAME=eth0, which does not have 10.10.0.12",),
    ),
    GangCase(
        "a head address that is not the head's",
        Status.FAIL,
        needs=with_host(
            told(), "tray1", env=(("VLLM_HOST_IP", "10.10.0.11"),), argv=("vllm", "serve", "m", "-dpa", "10.10.0.12")
        ),
        blamed=("tray1",),
    ),
    GangCase(
        "unreadable",
        Status.UNKNOWN,
        trays() | {"tray2": replace(tray("tray2"), network=NO_TOOL)},
        told(VLLM_HOST_IP="10.10.0.12"),
    ),
)
def test_one_address(case: GangCase) -> None:
    assert_gang(net_one_address, case)


def test_a_way_to_any_peer_by_another_interface_is_refused() -> None:
    routes = (Route("10.10.0.12", "eth0", "192.0.2.7"),)
    facts = trays() | {"tray1": change(tray(), "network", routes=routes)}
    found = {one.host: one for one in net_iface.check(facts, gang_needs())}
    assert found["tray1"].status is Status.FAIL
    assert "the way to tray2, 10.10.0.12, is 'eth0'" in found["tray1"].observed
    assert found["tray2"].status is Status.PASS


def test_an_interface_without_ipv4_is_refused() -> None:
    interfaces = tuple(
        replace(one, addresses=("2001:db8::11",)) if one.name == "enP5p9s0" else one
        for one in network("tray1").interfaces
    )
    facts = trays() | {"tray1": change(tray(), "network", interfaces=interfaces)}
    needs = replace(with_host(gang_needs(), "tray1", address="2001:db8::11"), head_address="2001:db8::11")
    found = {one.host: one for one in net_iface.check(facts, needs)}
    assert (found["tray1"].status, found["tray1"].observed) == (Status.FAIL, "'enP5p9s0' has no IPv4 address")


def planning(*ports: int) -> HostRequirements:
    return replace(tray_needs(), ports=ports)


@table(
    Case("reserved", Status.PASS, change(tray(), "network", reserved_ports=((39990, 40010),)), planning(40000)),
    Case("others are", Status.WARN, change(tray(), "network", reserved_ports=((39990, 39999),)), planning(40000)),
)
def test_reserved_ports(case: Case) -> None:
    assert_host(net_ports_ephemeral, case)


@pytest.mark.parametrize(
    ("name", "entry", "expected"),
    [
        ("tray1.lab.example", ".lab.example", True),
        ("tray1.lab.example", "lab.example", True),
        ("lab.example", "tray1.lab.example", False),
        ("10.0.0.1", "10.0.0.0/24", True),
        ("10.0.1.1", "10.0.0.0/24", False),
        ("tray1", "10.0.0.0/24", False),
        ("110.0.0.1", "10.0.0.1", False),
    ],
)
def test_who_is_spared(name: str, entry: str, *, expected: bool) -> None:
    assert net_proxy.is_spared(name, f"x, {entry} ,") is expected


def over_roce(mtu: int, backend: str = "deepep_low_latency") -> GangCase:
    """Experts are exchanged over the fabric interface, which is an RDMA device too."""
    device = RdmaDevice("mlx5_0", netdevs=("enP5p9s0",), ports=(RdmaPort(1, "4: ACTIVE", link_layer="Ethernet"),))
    interfaces = tuple(replace(one, mtu=mtu) if one.name == "enP5p9s0" else one for one in network("tray1").interfaces)
    facts = {h: replace(change(one, "network", interfaces=interfaces), rdma=(device,)) for h, one in trays().items()}
    argv = ("vllm", "serve", "m", "--all2all-backend", backend)
    hosts = tuple(replace(one, argv=argv) for one in gang_needs().hosts)
    return GangCase("", Status.PASS, facts, replace(gang_needs(), hosts=hosts, rdma=True))


@gang_table(
    replace(over_roce(9000), name="large"),
    replace(over_roce(1500), name="small", worst=Status.WARN, says=("MTU 1500 on tray1, tray2", "mtu 9000")),
    replace(over_roce(1500, "allgather_reducescatter"), name="small, without DeepEP"),
)
def test_mtu_of_roce(case: GangCase) -> None:
    assert_gang(net_mtu_equal, case)
