"""A host that is asked once: by a plain OpenSSH client; what comes later goes the usual way."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from inventory.errors import HostUnreachable
from inventory.fleet import Fleet
from inventory.schema import Host
from inventory.transport import clientfirst, strictconfig
from inventory.transport.clientfirst import ClientFirst
from inventory.transport.connect import choose
from tests.sshd.conftest import Server, free_port, make_key, wait_until_gone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inventory.transport.framed import FramedTransport

pytestmark = pytest.mark.sshd


@pytest.fixture
def brief(server: Server) -> Iterator[FramedTransport]:
    transport = choose(server.host("auto"), brief=True)
    assert isinstance(transport, ClientFirst)
    yield transport
    transport.close()


def refusal(server: Server, **changes: object) -> HostUnreachable:
    with pytest.raises(HostUnreachable) as caught:
        choose(server.host("auto", **changes), brief=True).run("true", timeout=20)
    assert caught.value.host == "auto-host"
    assert caught.value.observed
    assert caught.value.next_command
    return caught.value


def test_the_first_script_takes_no_library_and_leaves_no_login(server: Server, brief: FramedTransport) -> None:
    done = brief.run("echo out; echo err >&2; exit 5", timeout=30)
    assert (done.exit_status, done.text, done.stderr) == (5, "out\n", b"err\n")
    assert server.log.count("Accepted publickey") == 1
    wait_until_gone(*server.sessions())


def test_later_scripts_share_one_login(server: Server, brief: FramedTransport) -> None:
    assert [brief.run(f"echo {n}", timeout=30).text for n in range(4)] == ["0\n", "1\n", "2\n", "3\n"]
    assert server.log.count("Accepted publickey") == 2
    assert "paramiko" in sys.modules


def test_a_stream_of_data_goes_the_usual_way(brief: FramedTransport, tmp_path: Path) -> None:
    brief.append([b"a" * 70_000, b"b"], str(tmp_path / "sent"), deadline_s=30)
    assert (tmp_path / "sent").read_bytes() == b"a" * 70_000 + b"b"


def test_a_large_answer_comes_whole(brief: FramedTransport) -> None:
    assert len(brief.run("head -c 3000000 /dev/zero", timeout=60).stdout) == 3_000_000


def test_the_key_exchange_is_one_that_ssh_would_offer(server: Server, brief: FramedTransport) -> None:
    assert isinstance(brief, ClientFirst)
    assert "KexAlgorithms=curve25519-sha256," in " ".join(brief._ssh())
    server.ssh_config.write_text(server.ssh_config.read_text() + "  KexAlgorithms ecdh-sha2-nistp256\n")
    narrow = choose(server.host("auto"), brief=True)
    assert isinstance(narrow, ClientFirst)
    assert "KexAlgorithms" not in " ".join(narrow._ssh()), "a policy is not widened"
    assert narrow.run("echo x", timeout=20).text == "x\n"


def test_an_unknown_and_a_changed_host_key(server: Server, tmp_path: Path) -> None:
    server.trust()
    assert refusal(server).id == "host-key-unknown"
    server.trust(make_key(tmp_path / "former"))
    error = refusal(server)
    assert error.id == "host-key-changed"
    assert "Accepted publickey" not in server.log


def test_refused_logins(server: Server, tmp_path: Path) -> None:
    assert refusal(server, identity_file=str(make_key(tmp_path / "other"))).id == "auth"
    assert refusal(server, port=free_port()).id == "refused"


def test_a_server_that_drops_the_login_is_asked_again_the_usual_way(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many logins at once of others: MaxStartups. It comes back while it is tried again."""
    monkeypatch.setattr(clientfirst, "RETRY_S", 0.5)
    monkeypatch.setattr(ClientFirst, "_ssh", lambda _: ["sh", "-c", "echo kex_exchange_identification >&2; exit 255"])
    transport = choose(server.host("auto"), brief=True)
    assert transport.run("echo back", timeout=20).text == "back\n"
    assert transport.dropped_logins == 1
    transport.close()


def test_a_server_that_says_nothing_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strictconfig, "CONNECT_S", 2)
    server.stop()
    import socket

    with socket.create_server(("127.0.0.1", server.port)):
        began = time.monotonic()
        assert refusal(server).id in {"timeout", "banner"}
        assert time.monotonic() - began < 15


def test_a_server_that_dies_in_the_middle_is_a_lost_connection(server: Server, brief: FramedTransport) -> None:
    with pytest.raises(HostUnreachable) as caught:
        brief.run("echo running; sleep 20", timeout=60, on_stdout=lambda _: server.stop())
    assert caught.value.id == "connection-lost"


def test_it_is_closed_from_another_thread(server: Server, brief: FramedTransport) -> None:
    del server
    threading.Timer(1.0, brief.close).start()
    began = time.monotonic()
    with pytest.raises(HostUnreachable):
        brief.run("sleep 30", timeout=60)
    assert time.monotonic() - began < 10
    with pytest.raises(HostUnreachable):
        brief.open()


def test_a_fleet_that_is_asked_once(server: Server) -> None:
    hosts = [Host(**{**server.host("auto").model_dump(), "name": f"h{n}"}) for n in range(4)]
    with Fleet(hosts, brief=True) as fleet:
        said = fleet.each(lambda transport: transport.run(f"echo {transport.host}", timeout=30).text.strip())
        assert said == {f"h{n}": f"h{n}" for n in range(4)}
        assert server.log.count("Accepted publickey") == 4
