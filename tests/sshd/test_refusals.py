"""Logins that must fail: each for its own reason, at once, and with the command to type next."""

from __future__ import annotations

import base64
import hashlib
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inventory.errors import ExitCode, HostUnreachable
from tests.sshd.conftest import Server, free_port, make_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from inventory.transport.framed import FramedTransport

    Login = Callable[..., FramedTransport]

pytestmark = [pytest.mark.sshd, pytest.mark.parametrize("kind", ["ssh", "openssh"])]


def refusal(login: Login, server: Server, kind: str, **changes: object) -> HostUnreachable:
    with pytest.raises(HostUnreachable) as caught:
        login(server.host(kind, **changes))
    assert caught.value.host == f"{kind}-host"
    assert caught.value.exit_code is ExitCode.UNREACHABLE
    assert caught.value.observed
    assert caught.value.required
    assert caught.value.next_command
    return caught.value


def fingerprint(key: Path) -> str:
    blob = base64.b64decode(key.with_suffix(".pub").read_text().split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def test_a_key_that_is_not_on_record(server: Server, login: Login, kind: str) -> None:
    server.trust()
    error = refusal(login, server, kind)
    assert error.id == "host-key-unknown"
    assert fingerprint(server.host_key) in error.observed
    assert str(server.known_hosts) in error.required
    assert error.next_command == f"invoke hosts.trust --hosts {kind}-host"
    assert server.known_hosts.read_text() == ""


def test_a_key_that_is_another_than_on_record(server: Server, login: Login, tmp_path: Path, kind: str) -> None:
    former = make_key(tmp_path / "former")
    server.trust(former)
    before = server.known_hosts.read_text()
    error = refusal(login, server, kind)
    assert error.id == "host-key-changed"
    assert fingerprint(server.host_key) in error.observed
    assert fingerprint(former) in error.required
    assert "Accepted publickey" not in server.log
    assert server.known_hosts.read_text() == before


def test_a_revoked_key_is_refused_although_it_is_on_record(server: Server, login: Login, kind: str) -> None:
    listed = server.known_hosts.read_text()
    server.known_hosts.write_text(f"{listed}@revoked {listed}")
    assert refusal(login, server, kind).id == "host-key-changed"


def test_one_of_several_recorded_kinds_of_key_is_enough(
    server: Server, login: Login, tmp_path: Path, kind: str
) -> None:
    server.trust(make_key(tmp_path / "rsa", "rsa"), server.host_key)
    assert login(server.host(kind)).run("echo in", timeout=20).text == "in\n"


def test_a_server_shows_the_kind_of_key_that_is_on_record(
    make_server: Callable[..., Server], login: Login, tmp_path: Path, kind: str
) -> None:
    """The server would prefer its ed25519 key, but only the other is on record."""
    ecdsa = make_key(tmp_path / "ecdsa", "ecdsa")
    server = make_server(f"HostKey {ecdsa}")
    server.trust(ecdsa)
    assert login(server.host(kind)).run("echo in", timeout=20).text == "in\n"


def test_user_configuration_cannot_switch_key_checks_off(server: Server, login: Login, kind: str) -> None:
    server.trust()
    config = server.ssh_config.read_text()
    server.ssh_config.write_text(f"{config}  StrictHostKeyChecking no\n")
    assert refusal(login, server, kind).id == "host-key-unknown"


def test_nothing_listens(server: Server, login: Login, kind: str) -> None:
    error = refusal(login, server, kind, port=free_port())
    assert error.id == "refused"


def test_a_name_that_nobody_knows(server: Server, login: Login, kind: str) -> None:
    error = refusal(login, server, kind, address="no-such-host.invalid")
    assert error.id == "dns"
    assert error.next_command == "getent hosts no-such-host.invalid"


def test_a_key_that_the_host_does_not_accept(server: Server, login: Login, tmp_path: Path, kind: str) -> None:
    error = refusal(login, server, kind, identity_file=str(make_key(tmp_path / "stranger")))
    assert error.id == "auth"
    assert error.next_command.startswith("ssh -v -o BatchMode=yes")
    assert server.log.count("Connection from") - 1 == 1  # the fixture's own probe, and one try: no more knocking


def test_a_locked_private_key_asks_nobody(server: Server, login: Login, tmp_path: Path, kind: str) -> None:
    locked = make_key(tmp_path / "locked")
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", locked], check=True)
    assert refusal(login, server, kind, identity_file=str(locked)).id == "auth"


def test_a_server_that_drops_the_connection(server: Server, login: Login, kind: str) -> None:
    """Every connection is closed before the first word, as beyond MaxStartups."""
    server.stop()
    server.options = ("PerSourceMaxStartups 0",)
    server.write_config()
    server.start(answers=False)
    assert refusal(login, server, kind).id == "banner"


def test_no_algorithm_in_common(make_server: Callable[..., Server], login: Login, kind: str) -> None:
    server = make_server("Ciphers aes256-ctr", "MACs umac-64@openssh.com")
    config = server.ssh_config.read_text()
    server.ssh_config.write_text(f"{config}  Ciphers aes256-ctr\n  MACs hmac-sha2-256\n")
    assert refusal(login, server, kind).id == "kex"
