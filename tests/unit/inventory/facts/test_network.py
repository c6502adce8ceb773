from __future__ import annotations

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import Interface, Listener, Network, Route
from inventory.facts.network import listener, read_listeners, read_network, table_entry
from tests.answered import Said, answers

ANY = "0.0.0.0"  # noqa: S104  (read, not bound)
HOST: dict[str, Said] = {
    "network.links": (
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT\\    link/loopback\n"
        "2: eth0@if9: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP\\    link/ether\n"
        "3: ib0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 4092 qdisc mq state DOWN\\    link/infiniband\n"
        "4: docker0: <BROADCAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP\\    link/ether\n"
        "5: veth12ab34c@if4: <BROADCAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP\\    link/ether\n"
        "6: bond0: <BROADCAST,MASTER,UP,LOWER_UP> mtu 9000 qdisc noqueue state UP\\    link/ether\n"
    ),
    "network.addresses": (
        "1: lo    inet 127.0.0.1/8 scope host lo\\ valid_lft forever\n"
        "2: eth0    inet 192.0.2.2/24 brd 192.0.2.255 scope global eth0\\ valid_lft forever\n"
        "2: eth0    inet6 fd00::2/64 scope global\\ valid_lft forever\n"
        "6: bond0    inet 10.0.0.1 peer 10.0.0.2/32 scope global bond0\\ valid_lft forever\n"
    ),
    "network.speeds": "/sys/class/net/eth0/speed:-1\n/sys/class/net/bond0/speed:200000\n",
    "network.ports": "32768\t60999\n",
    "network.route.1": "192.0.2.9\n192.0.2.9 dev eth0 src 192.0.2.2 uid 0 \\    cache \n",
    "network.route.2": "gpu7\n10.9.0.7 via 10.0.0.2 dev bond0  src 10.0.0.1 \n",
    "network.route.3": (2, "RTNETLINK answers: Network is unreachable"),
}


def test_interfaces_without_the_container_engines_own() -> None:
    network = read_network(answers(HOST))
    assert network == Network(
        interfaces=(
            Interface("lo", "up", 65536, ("127.0.0.1",), None),
            Interface("eth0", "up", 1500, ("192.0.2.2", "fd00::2"), None),
            Interface("ib0", "down", 4092, (), None),
            Interface("bond0", "up", 9000, ("10.0.0.1",), 200000),
        ),
        routes=(Route("192.0.2.9", "eth0", "192.0.2.2"), Route("gpu7", "bond0", "10.0.0.1")),
        ephemeral_ports=(32768, 60999),
    )


LISTED = (
    "192.0.2.9 dev eth0 src 192.0.2.2 uid 0 \\    cache \n"
    "local 192.0.2.2 dev lo src 192.0.2.2 uid 0 \\    cache <local> \n"
    "10.0.0.7 from 10.0.0.1 dev bond0 src 10.0.0.1 \n"
    "unreachable 10.0.0.8 dev lo \n"
)


def test_the_routes_of_one_list_and_those_on_pages_of_their_own() -> None:
    said: dict[str, Said] = {**HOST, "network.routes": LISTED, "network.route.1": HOST["network.route.2"]}
    del said["network.route.2"]
    network = read_network(answers(said))
    assert not isinstance(network, Unknown)
    assert [(one.to, one.interface) for one in network.routes] == [
        ("192.0.2.9", "eth0"),
        ("192.0.2.2", "lo"),
        ("10.0.0.7", "bond0"),
        ("gpu7", "bond0"),
    ]


def test_busybox_prints_no_state() -> None:
    links = (
        "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue qlen 1000\\ link/ether\n"
        "3: eth1: <BROADCAST> mtu 1500 qdisc noop\\ link/ether\n"
    )
    network = read_network(answers({**HOST, "network.links": links}))
    assert not isinstance(network, Unknown)
    assert [(one.name, one.state) for one in network.interfaces] == [("eth0", "up"), ("eth1", "down")]


def test_no_ip_command_is_a_missing_tool() -> None:
    network = read_network(answers({**HOST, "network.links": (127, "ip: not found")}))
    assert network == Unknown(Why.MISSING_TOOL, "ip: not found")


def test_port_range_must_be_one() -> None:
    assert isinstance(read_network(answers({**HOST, "network.ports": "many\n"})), Unknown)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("State Recv-Q Send-Q Local Address:Port Peer Address:Port Process", None),
        ("LISTEN 0 128 0.0.0.0:22 0.0.0.0:*", Listener(ANY, 22, None)),
        ("LISTEN 0 128 [::1]:631 [::]:*", Listener("::1", 631, None)),
        ("LISTEN 0 9 127.0.0.53%lo:53 0.0.0.0:*", Listener("127.0.0.53", 53, None)),
        (
            'LISTEN 0 4096 *:8000 *:* users:(("VLLM::EngineCor",pid=77,fd=3),("x",pid=78,fd=3))',
            Listener("::", 8000, "VLLM::EngineCor 77"),
        ),
        ("ESTAB 0 0 10.0.0.1:22 10.0.0.2:555", None),
        ("LISTEN 0 0 nonsense 0.0.0.0:*", None),
    ],
)
def test_lines_of_ss(line: str, expected: Listener | None) -> None:
    assert listener(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000", Listener("127.0.0.1", 8080, None)),
        ("   1: 00000000000000000000000000000000:0016 0000:0 0A 0", Listener("::", 22, None)),
        ("   2: 00000000000000000000000001000000:0277 0000:0 0A 0", Listener("::1", 631, None)),
        ("   3: 0100007F:1F90 0200007F:0016 01 0", None),
        ("sl local_address", None),
    ],
)
def test_lines_of_the_kernels_table(line: str, expected: Listener | None) -> None:
    assert table_entry(line) == expected


def test_without_ss_the_kernels_tables_are_read() -> None:
    items: dict[str, Said] = {
        "listeners.ss": (127, "ss: not found"),
        "listeners.tables": "   0: 00000000:0016 00000000:0000 0A 0\n",
    }
    assert read_listeners(answers(items)) == (Listener(ANY, 22, None),)


def test_an_empty_table_is_an_answer_and_no_table_is_none() -> None:
    missing: Said = (127, "ss: not found")
    assert read_listeners(answers({"listeners.ss": missing, "listeners.tables": (1, "")})) == ()
    unread = read_listeners(answers({"listeners.ss": missing, "listeners.tables": (2, "grep: Permission denied")}))
    assert unread == Unknown(Why.REFUSED, "grep: Permission denied")
    assert read_listeners(answers({"listeners.ss": missing})) == Unknown(Why.MISSING_TOOL, "ss: not found")
