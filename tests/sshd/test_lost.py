"""Hosts that stop answering: the run ends by our own deadline, and the state is called unknown."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from inventory.errors import HostUnreachable
from inventory.transport import exchange, ssh, strictconfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from inventory.transport.framed import FramedTransport
    from tests.sshd.conftest import Server

pytestmark = [pytest.mark.sshd, pytest.mark.parametrize("kind", ["ssh", "openssh"])]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "KILL_AFTER", 1)
    monkeypatch.setattr(exchange, "GRACE_S", 1.0)


def freeze(server: Server) -> None:
    for pid in server.sessions():
        os.kill(pid, signal.SIGSTOP)


@pytest.mark.usefixtures("impatient")
def test_a_server_that_freezes_while_a_script_runs(
    server: Server, login: Callable[..., FramedTransport], kind: str
) -> None:
    transport = login(server.host(kind))
    started = time.monotonic()
    with pytest.raises(HostUnreachable) as caught:
        transport.run("echo running; sleep 3", timeout=2, on_stdout=lambda _: freeze(server))
    assert caught.value.id == "connection-lost"
    assert "no answer within the deadline" in caught.value.observed
    assert time.monotonic() - started < 15


@pytest.mark.usefixtures("impatient")
def test_a_server_that_is_frozen_before_a_long_script_is_sent(
    server: Server, login: Callable[..., FramedTransport], kind: str
) -> None:
    """More than fits into the buffers of a connection: sending it blocks."""
    transport = login(server.host(kind))
    assert transport.run("true", timeout=20).exit_status == 0
    freeze(server)
    started = time.monotonic()
    with pytest.raises(HostUnreachable) as caught:
        transport.run(f"# {'x' * 20_000_000}", timeout=3)
    assert caught.value.id == "connection-lost"
    assert time.monotonic() - started < 30


@pytest.mark.usefixtures("impatient")
def test_a_login_that_is_frozen_when_the_next_script_comes_is_lost(
    server: Server, login: Callable[..., FramedTransport], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a login without a shell: it had one a moment ago."""
    monkeypatch.setattr(ssh, "CONNECT_S", 2)
    transport = login(server.host(kind))
    assert transport.run("true", timeout=20).exit_status == 0
    freeze(server)
    with pytest.raises(HostUnreachable) as caught:
        transport.run("true", timeout=6)
    assert caught.value.id == "connection-lost"
    assert caught.value.next_command


def test_a_server_that_dies_while_a_script_runs(
    server: Server, login: Callable[..., FramedTransport], kind: str
) -> None:
    transport = login(server.host(kind))
    started = time.monotonic()
    with pytest.raises(HostUnreachable) as caught:
        transport.run("echo running; sleep 20", timeout=60, on_stdout=lambda _: server.stop())
    assert caught.value.id == "connection-lost"
    assert "unknown" in caught.value.message
    assert time.monotonic() - started < 30


def test_a_host_that_is_back_is_logged_in_to_again(
    server: Server, login: Callable[..., FramedTransport], kind: str
) -> None:
    transport = login(server.host(kind))
    with pytest.raises(HostUnreachable):
        transport.run("echo running; sleep 20", timeout=60, on_stdout=lambda _: server.stop())
    server.start()
    assert transport.run("echo back", timeout=20).text == "back\n"


def test_a_shell_that_is_killed_half_way_is_no_answer(
    server: Server, login: Callable[..., FramedTransport], kind: str
) -> None:
    """The outer shell dies, the connection does not: the exit status is missing all the same."""
    transport = login(server.host(kind))
    with pytest.raises(HostUnreachable) as caught:
        transport.run(
            "outer=$(ps -o ppid= -p $(ps -o ppid= -p $(ps -o ppid= -p $PPID)))\necho $outer; kill -9 $outer; sleep 1",
            timeout=20,
        )
    assert caught.value.id == "connection-lost"


def test_a_server_that_accepts_and_says_nothing(
    server: Server, login: Callable[..., FramedTransport], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "LOGIN_S", 2)
    monkeypatch.setattr(strictconfig, "CONNECT_S", 2)
    assert server.process
    os.kill(server.process.pid, signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(HostUnreachable) as caught:
        login(server.host(kind))
    assert caught.value.id == "timeout"
    assert time.monotonic() - started < 20
