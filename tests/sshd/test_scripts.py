"""What a script gets and gives, the same on every transport, against a real sshd (and none for `local`)."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inventory.errors import ChangeFailed, CheckFailed, HostUnreachable
from inventory.quoting import quote, quote_all
from inventory.transport.connect import connect
from inventory.transport.framing import sudo_refused
from tests.sshd.conftest import Server, wait_until_gone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inventory.transport.framed import FramedTransport

pytestmark = pytest.mark.sshd

HOSTILE = (
    "",
    " ",
    "two words",
    "a'b\"c`d$e\\f",
    "$(touch /tmp/never) `id` ${HOME}",
    "; rm -rf nothing #",
    "-n",
    "*",
    "~root",
    "line\nbreak\rand\ttab",
    "!history",
    "übung 漢字 🙂",
    "\x01\x7f\x1b[31m",
    "%s%n",
    "&& || | > <",
)


@pytest.fixture(params=["ssh", "openssh", "local"], scope="module")
def transport(request: pytest.FixtureRequest, shared_server: Server) -> Iterator[FramedTransport]:
    opened = connect(shared_server.host(request.param))
    yield opened
    opened.close()


def test_output_errors_and_status_come_back(transport: FramedTransport) -> None:
    completed = transport.run("echo out; echo err >&2; exit 3", timeout=20)
    assert (completed.stdout, completed.stderr, completed.exit_status) == (b"out\n", b"err\n", 3)
    assert completed.noise == b""
    assert 0 < completed.seconds < 20


def test_output_without_a_newline_keeps_its_bytes(transport: FramedTransport) -> None:
    assert transport.run("printf '\\n\\nno newline'", timeout=20).stdout == b"\n\nno newline"


def test_hostile_strings_are_only_strings(transport: FramedTransport) -> None:
    completed = transport.run(f"printf '%s\\0' {quote_all(HOSTILE)}", timeout=20)
    assert tuple(completed.stdout.decode().split("\0")[:-1]) == HOSTILE


def test_every_byte_comes_back(transport: FramedTransport, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(bytes(range(256)) * 3)
    assert transport.run(f"cat {quote(tmp_path / 'bytes')}", timeout=20).stdout == bytes(range(256)) * 3


def test_megabytes_go_both_ways(transport: FramedTransport, tmp_path: Path) -> None:
    data = os.urandom(5_000_000)
    transport.put(data, str(tmp_path / "data"))
    assert (tmp_path / "data").read_bytes() == data
    assert transport.get(str(tmp_path / "data")) == data


def test_much_on_stderr_blocks_nothing(transport: FramedTransport) -> None:
    script = "head -c 5000000 /dev/zero >&2; head -c 5000000 /dev/zero; echo end"
    completed = transport.run(script, timeout=60)
    assert (len(completed.stdout), len(completed.stderr)) == (5_000_004, 5_000_000)


def test_a_script_longer_than_any_argument_may_be(transport: FramedTransport) -> None:
    script = "\n".join(["n=0", *("n=$((n + 1))  # it's one more" for _ in range(8000)), "echo $n"])
    assert len(script) > 128 * 1024
    assert transport.run(script, timeout=60).text == "8000\n"


def test_stdin_is_closed(transport: FramedTransport) -> None:
    assert transport.run("cat; echo $?", timeout=20).text == "0\n"


def test_there_is_no_terminal(transport: FramedTransport) -> None:
    assert transport.run("test -t 0 || test -t 1 || test -t 2 || echo none", timeout=20).text == "none\n"


def test_output_is_streamed_as_it_comes(transport: FramedTransport, tmp_path: Path) -> None:
    """The script waits for a file that we make when its first line is here."""
    go = tmp_path / "go"
    seen: list[bytes] = []

    def on_stdout(piece: bytes) -> None:
        seen.append(piece)
        go.touch()

    script = f"echo first; until [ -e {quote(go)} ]; do sleep 0.05; done; echo second"
    completed = transport.run(script, timeout=60, on_stdout=on_stdout)
    assert completed.exit_status == 0
    assert b"".join(seen) == completed.stdout == b"first\nsecond\n"
    assert len(seen) > 1


def test_a_child_that_keeps_stdout_does_not_hold_the_answer(transport: FramedTransport) -> None:
    completed = transport.run("setsid sleep 20 & echo $!", timeout=60)
    assert completed.seconds < 15
    os.kill(int(completed.text), 9)


def test_the_deadline_leaves_no_process(transport: FramedTransport) -> None:
    completed = transport.run("echo $$; sleep 300 & echo $!; sleep 300", timeout=1)
    assert completed.exit_status == 124
    wait_until_gone(*map(int, completed.text.split()))


def test_what_ignores_the_deadline_is_killed(transport: FramedTransport) -> None:
    completed = transport.run("trap '' TERM; echo $$; sleep 300; sleep 300", timeout=1)
    assert completed.exit_status in {124, 137}
    wait_until_gone(*map(int, completed.text.split()))


def test_after_a_deadline_the_connection_serves_on(transport: FramedTransport) -> None:
    assert transport.run("sleep 300", timeout=1).exit_status == 124
    assert transport.run("echo here", timeout=20).text == "here\n"


def test_an_error_of_the_reader_ends_the_run_and_not_the_connection(transport: FramedTransport) -> None:
    class ReaderError(Exception):
        pass

    def on_stdout(_: bytes) -> None:
        raise ReaderError

    with pytest.raises(ReaderError):
        transport.run("echo x; sleep 2", timeout=20, on_stdout=on_stdout)
    assert transport.run("echo here", timeout=20).text == "here\n"


def test_a_file_gets_its_mode_and_replaces_another(transport: FramedTransport, tmp_path: Path) -> None:
    path = tmp_path / "it's a file; with $odd name"
    transport.put(b"one", str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    transport.put(b"two\0", str(path), mode=0o644)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"two\0", 0o644)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("size", [0, 1])
def test_small_files(transport: FramedTransport, tmp_path: Path, size: int) -> None:
    transport.put(b"x" * size, str(tmp_path / "small"))
    assert transport.get(str(tmp_path / "small")) == b"x" * size


def test_a_missing_file_is_not_an_empty_one(transport: FramedTransport, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        transport.get(str(tmp_path / "nothing"))
    with pytest.raises(CheckFailed, match="cannot be read"):
        transport.get(str(tmp_path))


def test_a_file_that_cannot_be_written_says_why(transport: FramedTransport, tmp_path: Path) -> None:
    with pytest.raises(ChangeFailed) as caught:
        transport.put(b"x", str(tmp_path / "no" / "folder"))
    assert "No such file or directory" in caught.value.observed
    (tmp_path / "folder").mkdir()
    with pytest.raises(ChangeFailed):
        transport.put(b"x", str(tmp_path / "folder"))
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("sudo"), reason="needs root and sudo")
def test_sudo_runs_the_script_as_root_under_the_same_deadline(transport: FramedTransport) -> None:
    assert transport.run("id -u; exit 4", timeout=20, sudo=True).exit_status == 4
    completed = transport.run("echo $$; sleep 300", timeout=1, sudo=True)
    assert (completed.exit_status, sudo_refused(completed)) == (124, False)
    wait_until_gone(int(completed.text))


@pytest.mark.parametrize("kind", ["ssh", "openssh"])
def test_after_close_nothing_runs(shared_server: Server, login: Callable[..., FramedTransport], kind: str) -> None:
    transport = login(shared_server.host(kind))
    transport.close()
    transport.close()
    with pytest.raises(HostUnreachable, match="closed on this side"):
        transport.run("true", timeout=5)


def test_a_stream_of_data_arrives_as_it_is(transport: FramedTransport, tmp_path: Path) -> None:
    piece = os.urandom(1 << 20) + b"'; touch /tmp/never\n"
    transport.append(iter([piece] * 8), f"{tmp_path}/it's a file", deadline_s=60)
    assert (tmp_path / "it's a file").read_bytes() == piece * 8
