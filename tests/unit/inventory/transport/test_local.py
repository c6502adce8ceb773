from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inventory.errors import HostUnreachable
from inventory.transport import exchange
from inventory.transport.local import LocalTransport, _state_and_session_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def local() -> Iterator[LocalTransport]:
    transport = LocalTransport("here")
    yield transport
    transport.close()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid: int) -> None:
    end = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_running(pid)


def test_a_script_runs_here(local: LocalTransport) -> None:
    completed = local.run("echo $((6 * 7)); exit 2", timeout=20)
    assert (completed.text, completed.exit_status, local.host) == ("42\n", 2, "here")


def test_close_ends_what_runs_and_what_it_started(local: LocalTransport) -> None:
    pids: list[int] = []

    def on_stdout(piece: bytes) -> None:
        pids.extend(map(int, piece.split()))
        threading.Thread(target=local.close).start()

    with pytest.raises(HostUnreachable) as caught:
        local.run("sleep 300 & echo $! $$; sleep 300", timeout=600, on_stdout=on_stdout)
    assert caught.value.id == "connection-lost"
    assert len(pids) == 2
    for pid in pids:
        wait_until_gone(pid)


def test_our_deadline_ends_a_script_that_the_hosts_did_not(
    local: LocalTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "GRACE_S", -23.0)  # so that ours comes first, after 2 s
    pids: list[int] = []
    with pytest.raises(HostUnreachable, match="state of the host is unknown"):
        local.run("echo $$; sleep 300", timeout=20, on_stdout=lambda piece: pids.append(int(piece)))
    wait_until_gone(pids[0])


def test_the_session_is_read_behind_any_name() -> None:
    assert _state_and_session_of("17 (a) b (c) S 1 16 15 0 -1 4194560") == ("S", 15)
