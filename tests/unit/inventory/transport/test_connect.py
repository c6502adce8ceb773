from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from inventory.errors import BadInput
from inventory.schema import Host
from inventory.transport.clientfirst import ClientFirst
from inventory.transport.connect import choose, connect
from inventory.transport.local import LocalTransport
from inventory.transport.openssh import OpensshTransport
from inventory.transport.ssh import SshTransport

if TYPE_CHECKING:
    from pathlib import Path


def host(tmp_path: Path, config: str = "", **settings: object) -> Host:
    (tmp_path / "config").write_text(config)
    return Host.model_validate({"name": "tray1", "ssh_config": str(tmp_path / "config"), **settings})


@pytest.mark.parametrize(
    ("transport", "config", "kind"),
    [
        ("local", "", LocalTransport),
        ("ssh", "", SshTransport),
        ("openssh", "", OpensshTransport),
        ("auto", "", SshTransport),
        ("auto", "ProxyCommand connect %h %p", OpensshTransport),
        ("auto", "Host tray1\nProxyJump bastion\nHost bastion\nPKCS11Provider /usr/lib/token.so", OpensshTransport),
        ("auto", "IdentityAgent /run/user/1/agent", OpensshTransport),
        ("auto", "IdentityAgent none", SshTransport),
        ("ssh", "ProxyCommand connect %h %p", SshTransport),
    ],
)
def test_the_transport_of_a_host(tmp_path: Path, transport: str, config: str, kind: type) -> None:
    chosen = choose(host(tmp_path, config, transport=transport))
    assert type(chosen) is kind
    assert chosen.host == "tray1"
    chosen.close()


@pytest.mark.parametrize(
    ("transport", "settings", "kind"),
    [
        ("auto", {}, ClientFirst),
        ("ssh", {}, SshTransport),
        ("openssh", {}, OpensshTransport),
        ("local", {}, LocalTransport),
        ("auto", {"jump": "bastion"}, SshTransport),
    ],
)
def test_the_transport_of_a_host_that_is_asked_once(
    tmp_path: Path, transport: str, settings: dict[str, str], kind: type
) -> None:
    """Behind a jump host logins are counted: many at once would be dropped there."""
    assert type(choose(host(tmp_path, transport=transport, **settings), brief=True)) is kind


def test_the_servers_on_the_way_are_known_before_the_login(tmp_path: Path) -> None:
    chosen = choose(host(tmp_path, "Host bastion\n  HostName 10.0.0.9\n", address="10.0.0.1", jump="bastion:2222"))
    assert chosen.doors == ("10.0.0.9:2222", "10.0.0.1:22")


def test_a_configuration_that_ssh_refuses_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        connect(host(tmp_path, "NoSuchOption yes\n"))


def test_this_machine_needs_no_ssh_library() -> None:
    """fabric takes half a second to import."""
    code = (
        "import sys; from inventory.transport.local import LocalTransport; from inventory.transport import connect\n"
        "assert not {'fabric', 'paramiko', 'invoke'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
