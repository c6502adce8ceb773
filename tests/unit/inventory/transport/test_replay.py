from __future__ import annotations

from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.transport import filescripts
from inventory.transport.base import Completed, Transport
from inventory.transport.local import LocalTransport
from inventory.transport.replay import ReplayTransport, save


def test_a_saved_answer_is_the_answer(tmp_path: Path) -> None:
    script = "printf 'a\\0b'; echo err >&2; exit 3"
    real = LocalTransport("here").run(script, timeout=20)
    save(tmp_path, script, real)
    replay: Transport = ReplayTransport("tray1", tmp_path)
    streamed: list[bytes] = []
    assert replay.run(script, timeout=1, on_stdout=streamed.append) == real
    assert streamed == [b"a\0b"]
    assert replay.host == "tray1"


@pytest.mark.parametrize(("script", "sudo"), [("echo other", False), ("echo one", True)])
def test_another_script_or_another_user_is_refused(tmp_path: Path, script: str, *, sudo: bool) -> None:
    save(tmp_path, "echo one", Completed(0, b"one\n", b"", b"", 0.1))
    with pytest.raises(BadInput) as caught:
        ReplayTransport("tray1", tmp_path).run(script, timeout=1, sudo=sudo)
    assert caught.value.id == "replay"
    assert caught.value.host == "tray1"


def test_files_are_read_from_saved_answers_and_never_written(tmp_path: Path) -> None:
    there, missing = filescripts.get_script("/etc/hosts"), filescripts.get_script("/no/such")
    save(tmp_path, there, Completed(0, b"127.0.0.1 localhost\n", b"", b"", 0.1))
    save(tmp_path, missing, Completed(1, b"", b"cat: /no/such: No such file or directory\n", b"", 0.1))
    replay = ReplayTransport("tray1", tmp_path)
    assert replay.get("/etc/hosts") == b"127.0.0.1 localhost\n"
    with pytest.raises(FileNotFoundError):
        replay.get("/no/such")
    with pytest.raises(BadInput):
        replay.put(b"x", "/etc/hosts")


def test_answers_are_readable_files(tmp_path: Path) -> None:
    place = save(tmp_path, "echo one", Completed(0, b"one\n", b"", b"motd\n", 0.1), sudo=True)
    assert (place / "script").read_text() == "echo one"
    assert (place / "stdout").read_text() == "one\n"
    assert (place / "noise").read_text() == "motd\n"
