"""Hosts behind a jump host: keys are checked on both, and the one that fails is named."""

from __future__ import annotations

import getpass
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from inventory.errors import HostUnreachable
from tests.sshd.conftest import Server, free_port, make_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inventory.schema import Host
    from inventory.transport.framed import FramedTransport

    Login = Callable[..., FramedTransport]

pytestmark = [pytest.mark.sshd, pytest.mark.parametrize("kind", ["ssh", "openssh"])]


@dataclass
class Way:
    """A target and the jump host before it, both on record in the target's files."""

    jump: Server
    target: Server

    def host(self, kind: str, **changes: object) -> Host:
        return self.target.host(kind, jump=f"{getpass.getuser()}@127.0.0.1:{self.jump.port}", **changes)

    def record(self, **keys: Path) -> None:
        machines = {"jump": self.jump, "target": self.target}
        lines = [f"{machines[name].name} {key.with_suffix('.pub').read_text()}" for name, key in keys.items()]
        self.target.known_hosts.write_text("".join(lines))


@pytest.fixture
def way(make_server: Callable[..., Server]) -> Way:
    made = Way(make_server(), make_server())
    shutil.copy(made.target.folder / "authorized_keys", made.jump.folder / "authorized_keys")
    with made.target.ssh_config.open("a") as config:
        config.write(f"  IdentityFile {made.target.user_key}\n")
    made.record(jump=made.jump.host_key, target=made.target.host_key)
    return made


def refusal(login: Login, host: Host) -> HostUnreachable:
    with pytest.raises(HostUnreachable) as caught:
        login(host)
    return caught.value


def test_a_script_runs_behind_a_jump_host(way: Way, login: Login, kind: str) -> None:
    transport = login(way.host(kind))
    assert transport.run("echo $SSH_CONNECTION", timeout=20).text.split()[-1] == str(way.target.port)
    assert "Accepted publickey" in way.jump.log
    assert len(transport.run("head -c 3000000 /dev/zero", timeout=60).stdout) == 3_000_000


def test_a_chain_of_jump_hosts(way: Way, make_server: Callable[..., Server], login: Login, kind: str) -> None:
    second = make_server()
    shutil.copy(way.target.folder / "authorized_keys", second.folder / "authorized_keys")
    with way.target.known_hosts.open("a") as record:
        record.write(f"{second.name} {second.host_key.with_suffix('.pub').read_text()}")
    me = getpass.getuser()
    chain = f"{me}@127.0.0.1:{way.jump.port},{me}@127.0.0.1:{second.port}"
    assert login(way.target.host(kind, jump=chain)).run("echo in", timeout=30).text == "in\n"
    assert "Accepted publickey" in way.jump.log
    assert "Accepted publickey" in second.log


def test_the_key_of_a_jump_host_is_checked(way: Way, login: Login, kind: str) -> None:
    way.record(target=way.target.host_key)
    error = refusal(login, way.host(kind))
    assert error.id == "host-key-unknown"
    assert error.message.startswith("jump host 127.0.0.1")
    assert way.jump.name in error.required
    assert "SHA256:" in error.observed
    assert "Accepted" not in way.jump.log


def test_a_changed_key_of_a_jump_host(way: Way, login: Login, tmp_path: Path, kind: str) -> None:
    way.record(jump=make_key(tmp_path / "former"), target=way.target.host_key)
    error = refusal(login, way.host(kind))
    assert (error.id, error.message[:9]) == ("host-key-changed", "jump host")
    assert "Accepted" not in way.jump.log


def test_the_key_of_the_target_is_checked_behind_it(way: Way, login: Login, kind: str) -> None:
    way.record(jump=way.jump.host_key)
    error = refusal(login, way.host(kind))
    assert error.id == "host-key-unknown"
    assert error.message.startswith("the host")
    assert way.target.name in error.required
    assert "SHA256:" in error.observed
    assert "Accepted" not in way.target.log


def test_nothing_listens_behind_the_jump_host(way: Way, login: Login, kind: str) -> None:
    assert refusal(login, way.host(kind, port=free_port())).id == "jump"


def test_the_jump_host_is_down(way: Way, login: Login, kind: str) -> None:
    way.jump.stop()
    error = refusal(login, way.host(kind))
    assert (error.id, error.message) == ("refused", "jump host 127.0.0.1: nothing listens on the SSH port")


def test_the_jump_host_refuses_the_login(way: Way, login: Login, kind: str) -> None:
    (way.jump.folder / "authorized_keys").write_text("")
    error = refusal(login, way.host(kind))
    assert (error.id, error.message) == ("auth", "jump host 127.0.0.1: the host refuses the login")


def test_a_jump_host_that_dies_loses_the_run(way: Way, login: Login, kind: str) -> None:
    transport = login(way.host(kind))
    with pytest.raises(HostUnreachable) as caught:
        transport.run("echo running; sleep 20", timeout=60, on_stdout=lambda _: way.jump.stop())
    assert caught.value.id == "connection-lost"
