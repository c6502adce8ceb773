from __future__ import annotations

import socket

import pytest

from launch.standin.log import Fault
from launch.standin.network import bind_zmq, gloo_ip, host_ip
from launch.standin.wire import address_of


def test_host_ip_is_what_the_variable_says() -> None:
    assert host_ip({"VLLM_HOST_IP": "10.1.2.3"}) == "10.1.2.3"
    socket.inet_aton(host_ip({}))  # without it some address of this host, or 0.0.0.0


def test_gloo_takes_the_address_of_its_interface() -> None:
    assert gloo_ip({"GLOO_SOCKET_IFNAME": "lo"}) == "127.0.0.1"
    assert gloo_ip({"GLOO_SOCKET_IFNAME": "lo,eth0"}) == "127.0.0.1"
    socket.inet_aton(gloo_ip({}))
    with pytest.raises(Fault, match="Unable to find address for: nope0"):
        gloo_ip({"GLOO_SOCKET_IFNAME": "nope0"})


def test_errors_in_zeromqs_words() -> None:
    with bind_zmq("127.0.0.1") as taken:
        taken.listen()
        port = address_of(taken)[2]
        with pytest.raises(Fault, match=rf"Address already in use \(addr='tcp://127.0.0.1:{port}'\)"):
            bind_zmq("127.0.0.1", port)
    with pytest.raises(Fault, match="Cannot assign requested address"):
        bind_zmq("192.0.2.1", 29550)
    with pytest.raises(Fault, match="No such device"):
        bind_zmq("no.such.host.invalid", 29550)


def test_a_local_socket_leaves_no_file() -> None:
    with bind_zmq("ignored", local="test") as bound:
        kind, name = address_of(bound)
    assert kind == "unix"
    assert name.endswith("-test")
