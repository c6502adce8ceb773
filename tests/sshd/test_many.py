"""Many hosts at once through servers that take few logins."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inventory.errors import HostUnreachable
from inventory.fanout import Logins, fan_out
from tests.sshd.conftest import free_port, make_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from inventory.schema import Host
    from inventory.transport.base import Transport
    from tests.sshd.conftest import Server

pytestmark = pytest.mark.sshd
ROOT = Path(__file__).resolve().parents[2]


def named(server: Server, kind: str, count: int) -> list[Host]:
    return [server.host(kind, name=f"tray{number}") for number in range(count)]


def whoami(transport: Transport) -> str:
    return transport.run(f"echo {transport.host}", timeout=60).text.strip()


@pytest.mark.parametrize("kind", ["ssh", "openssh"])
def test_a_server_that_drops_logins_serves_all_hosts_in_the_end(
    make_server: Callable[..., Server], capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    server = make_server("MaxStartups 2")
    hosts = named(server, kind, 8)
    results = fan_out(hosts, whoami)
    assert results == {host.name: host.name for host in hosts}
    assert list(results) == [host.name for host in hosts]
    assert capfd.readouterr() == ("", "")  # no tracebacks of paramiko's threads, no words of ssh


def test_the_cap_keeps_logins_within_what_the_server_takes(make_server: Callable[..., Server]) -> None:
    server = make_server("MaxStartups 3")
    hosts = named(server, "ssh", 6)
    logins = Logins(handshakes=2)
    assert fan_out(hosts, whoami, logins=logins) == {host.name: host.name for host in hosts}
    logins.close()
    assert "past MaxStartups" not in server.log


def test_a_refused_key_is_offered_once(server: Server, tmp_path: Path) -> None:
    hosts = [server.host("ssh", identity_file=str(make_key(tmp_path / "stranger")))]
    (result,) = fan_out(hosts, whoami).values()
    assert isinstance(result, HostUnreachable)
    assert result.id == "auth"
    assert server.log.count("Connection from") == 2  # one is the fixture's own probe


def test_one_login_serves_several_phases(server: Server) -> None:
    hosts = [server.host("ssh"), server.host("openssh")]
    logins = Logins()
    for _ in range(3):
        assert fan_out(hosts, whoami, logins=logins) == {host.name: host.name for host in hosts}
    logins.close()
    assert server.log.count("Accepted publickey") == 2


def test_hosts_that_fail_leave_the_others_alone(server: Server) -> None:
    seen: list[str] = []
    good, bad = server.host("ssh", name="good"), server.host("ssh", name="bad", port=free_port())
    results = fan_out([bad, good], whoami, on_result=lambda name, _: seen.append(name))
    assert results["good"] == "good"
    assert isinstance(results["bad"], HostUnreachable)
    assert (results["bad"].id, results["bad"].host) == ("refused", "bad")
    assert sorted(seen) == ["bad", "good"]


INTERRUPTED = """
import sys
from inventory.fanout import fan_out
from inventory.schema import Host
hosts = [Host.model_validate_json(text) for text in sys.argv[1:]]
fan_out(hosts, lambda transport: transport.run("sleep 60", timeout=100, on_stdout=None))
"""


@pytest.mark.parametrize("kinds", [["ssh", "openssh", "local"], ["ssh"] * 3])
def test_an_interrupt_ends_at_once(make_server: Callable[..., Server], kinds: list[str]) -> None:
    """With scripts running, and with a server that accepts a login and then says nothing."""
    server, silent = make_server(), make_server()
    assert silent.process
    silent.process.send_signal(signal.SIGSTOP)
    hosts = [server.host(kind, name=f"tray{number}") for number, kind in enumerate(kinds)]
    hosts += [silent.host("ssh", name="silent"), silent.host("openssh", name="silent2")]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *(host.model_dump_json(exclude_none=True) for host in hosts)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
    )
    end = time.monotonic() + 30
    wanted = sum(kind != "local" for kind in kinds)
    while server.log.count("Starting session") < wanted and time.monotonic() < end:
        time.sleep(0.05)
    assert process.poll() is None
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - started < 5
    assert errors.decode().rstrip().endswith("KeyboardInterrupt")
    assert process.returncode != 0
