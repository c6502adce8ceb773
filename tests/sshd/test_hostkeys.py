"""Putting host keys on record: what is shown is what is written, and nothing is replaced in silence."""

from __future__ import annotations

import getpass
import shutil
import stat
from typing import TYPE_CHECKING

import pytest

from inventory.errors import CheckFailed, HostUnreachable
from inventory.transport.hostkeys import State, scan, trust
from tests.sshd.conftest import Server, free_port, make_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inventory.transport.framed import FramedTransport

pytestmark = pytest.mark.sshd


def public(key: Path) -> str:
    return key.with_suffix(".pub").read_text().split()[1]


def test_an_unknown_key_is_shown_and_then_recorded(server: Server, login: Callable[..., FramedTransport]) -> None:
    server.known_hosts.unlink()
    (found,) = scan(server.host())
    assert (found.state, [key.base64 for key in found.keys]) == (State.UNKNOWN, [public(server.host_key)])
    assert not server.known_hosts.exists()
    assert trust(found) == found.keys
    assert stat.S_IMODE(server.known_hosts.stat().st_mode) == 0o600
    assert login(server.host("ssh")).run("echo in", timeout=20).text == "in\n"
    assert login(server.host("openssh")).run("echo in", timeout=20).text == "in\n"


def test_what_is_on_record_is_not_written_twice(server: Server) -> None:
    before = server.known_hosts.read_text()
    (found,) = scan(server.host())
    assert found.state is State.KNOWN
    assert trust(found) == ()
    assert server.known_hosts.read_text() == before


def test_a_changed_key_is_replaced_only_on_demand(server: Server, tmp_path: Path) -> None:
    server.trust(make_key(tmp_path / "former"))
    other = f"elsewhere ssh-ed25519 {public(server.user_key)}\n"
    before = other + server.known_hosts.read_text()
    server.known_hosts.write_text(before)
    (found,) = scan(server.host())
    assert found.state is State.CHANGED
    with pytest.raises(CheckFailed) as caught:
        trust(found)
    assert caught.value.id == "host-key-changed"
    assert "--replace" in caught.value.next_command
    assert server.known_hosts.read_text() == before
    assert trust(found, replace=True) == found.keys
    after = server.known_hosts.read_text()
    assert other in after
    assert public(tmp_path / "former") not in after
    assert public(server.host_key) in after
    assert server.known_hosts.with_name("known_hosts.old").read_text() == before


def test_names_are_hashed_where_ssh_would_hash_them(server: Server) -> None:
    server.trust()
    with server.ssh_config.open("a") as config:
        config.write("  HashKnownHosts yes\n")
    (found,) = scan(server.host())
    trust(found)
    assert server.known_hosts.read_text().startswith("|1|")
    assert [each.state for each in scan(server.host())] == [State.KNOWN]


def test_a_recorded_kind_that_the_server_lacks_is_a_change(server: Server, tmp_path: Path) -> None:
    server.trust(make_key(tmp_path / "rsa", "rsa"))
    assert [each.state for each in scan(server.host())] == [State.CHANGED]


def test_a_last_line_without_a_newline_stays_whole(server: Server) -> None:
    line = f"elsewhere ssh-ed25519 {public(server.user_key)}"
    server.known_hosts.write_text(line)
    (found,) = scan(server.host())
    trust(found)
    assert server.known_hosts.read_text().splitlines()[0] == line
    assert [each.state for each in scan(server.host())] == [State.KNOWN]


def test_a_symlink_to_a_shared_file_stays_one(server: Server, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    server.known_hosts.unlink()
    shared.write_text("")
    server.known_hosts.symlink_to(shared)
    (found,) = scan(server.host())
    trust(found)
    assert server.known_hosts.is_symlink()
    assert public(server.host_key) in shared.read_text()


def test_a_key_that_another_file_contradicts_stays_refused(server: Server, tmp_path: Path) -> None:
    former = make_key(tmp_path / "former")
    (tmp_path / "global").write_text(f"@revoked {server.name} ssh-ed25519 {public(server.host_key)}\n")
    config = server.ssh_config.read_text()
    server.ssh_config.write_text(config.replace("/dev/null", str(tmp_path / "global")))
    server.trust(former)
    (found,) = scan(server.host())
    with pytest.raises(CheckFailed, match="shows another key"):
        trust(found, replace=True)


def test_jump_hosts_come_first_and_must_be_trusted_before_the_next(make_server: Callable[..., Server]) -> None:
    jump, target = make_server(), make_server()
    shutil.copy(target.folder / "authorized_keys", jump.folder / "authorized_keys")
    with target.ssh_config.open("a") as config:
        config.write(f"  IdentityFile {target.user_key}\n")
    target.known_hosts.write_text("")
    host = target.host(jump=f"{getpass.getuser()}@127.0.0.1:{jump.port}")
    with pytest.raises(HostUnreachable, match="jump host"):
        list(scan(host))
    names = []
    for found in scan(host):
        names.append(found.name)
        assert found.state is State.UNKNOWN
        trust(found)
    assert names == [jump.name, target.name]
    assert [found.state for found in scan(host)] == [State.KNOWN, State.KNOWN]


def test_a_host_that_does_not_answer_is_no_key(server: Server) -> None:
    with pytest.raises(HostUnreachable) as caught:
        list(scan(server.host(port=free_port())))
    assert caught.value.id == "refused"


def test_this_machine_has_no_key_to_trust(server: Server) -> None:
    assert list(scan(server.host("local"))) == []
