"""Keys that only an agent can use."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from inventory.errors import HostUnreachable
from tests.sshd.conftest import make_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from inventory.transport.framed import FramedTransport
    from tests.sshd.conftest import Server

    Login = Callable[..., FramedTransport]

pytestmark = [pytest.mark.sshd, pytest.mark.parametrize("kind", ["ssh", "openssh"])]


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """An agent of ours; the function hands it a private key."""
    socket = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 10
    while not socket.exists() and time.monotonic() < end:
        time.sleep(0.02)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))

    def add(key: Path) -> None:
        subprocess.run(["ssh-add", "-q", key], check=True, capture_output=True, env=os.environ)

    yield add
    process.terminate()
    process.wait()


def lock(key: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", key], check=True)


def test_the_agent_is_asked_when_no_key_is_named(
    server: Server, login: Login, agent: Callable[[Path], None], kind: str
) -> None:
    agent(server.user_key)
    server.user_key.unlink()
    assert login(server.host(kind, identity_file=None)).run("echo in", timeout=20).text == "in\n"


@pytest.mark.parametrize("left", ["locked private key", "public key"])
def test_a_named_key_is_used_through_the_agent(
    server: Server, login: Login, agent: Callable[[Path], None], kind: str, left: str
) -> None:
    agent(server.user_key)
    named = server.user_key if left == "locked private key" else server.user_key.with_suffix(".pub")
    if left == "locked private key":
        lock(server.user_key)
    else:
        server.user_key.unlink()
    assert login(server.host(kind, identity_file=str(named))).run("echo in", timeout=20).text == "in\n"


def test_a_named_key_keeps_the_others_of_the_agent_out(
    server: Server, login: Login, agent: Callable[[Path], None], tmp_path: Path, kind: str
) -> None:
    agent(server.user_key)
    with pytest.raises(HostUnreachable) as caught:
        login(server.host(kind, identity_file=str(make_key(tmp_path / "named"))))
    assert caught.value.id == "auth"
