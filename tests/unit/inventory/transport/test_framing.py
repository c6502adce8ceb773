from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from inventory.transport.base import Completed
from inventory.transport.framing import NOISE_LIMIT, Unframer, frame, new_marker, sudo_refused
from tests.unit.inventory.transport.shells import SHELLS, TOOLS, programs, run_framed, shell

ODD = bytes(number for number in range(1, 256)).decode("latin-1").encode("latin-1").decode("utf-8", "surrogateescape")


@pytest.fixture(params=SHELLS)
def sh(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return shell(request.param, tmp_path)


def fed(marker: str, data: bytes) -> Unframer:
    unframer = Unframer(marker)
    unframer.feed(data)
    return unframer


def test_markers_cannot_be_guessed() -> None:
    assert len({new_marker() for _ in range(100)}) == 100


def test_a_nul_byte_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        frame("echo \0", marker="m", timeout=1)


def test_output_without_a_newline_keeps_its_bytes(sh: Path) -> None:
    assert run_framed("printf '\\n\\na\\n\\nb'", sh=sh)[0].stdout == b"\n\na\n\nb"


def test_odd_bytes_in_a_script_arrive(sh: Path) -> None:
    quoted = "'" + ODD.replace("'", "'\"'\"'") + "'"
    assert run_framed(f"printf %s {quoted}", sh=sh)[0].stdout == bytes(range(1, 256))


def test_a_script_may_be_megabytes_long(sh: Path) -> None:
    lines = "\n".join(f"count=$((count + 1))  # it's line {number}" for number in range(20_000))
    word = "x" * 1_000_000
    completed, _ = run_framed(f"count=0\n{lines}\nword={word}\necho $count ${{#word}}", sh=sh)
    assert completed.stdout == b"20000 1000000\n"


@pytest.mark.parametrize(("script", "status"), [("exit 3", 3), ("false", 1), ("", 0), ("exit 255", 255), ("# end", 0)])
def test_the_exit_status_travels_in_the_marker(sh: Path, script: str, status: int) -> None:
    assert run_framed(script, sh=sh)[0].exit_status == status


def test_a_syntax_error_is_the_scripts_own_failure(sh: Path) -> None:
    completed, _ = run_framed("if", sh=sh)
    assert completed.exit_status != 0
    assert completed.stderr


def test_stdin_is_closed_for_the_script(sh: Path) -> None:
    assert run_framed('cat; read -r line; echo "$?$line"', sh=sh)[0].stdout == b"1\n"


def test_stderr_is_framed_too(sh: Path) -> None:
    completed, _ = run_framed("echo out; echo err >&2", sh=sh)
    assert (completed.stdout, completed.stderr) == (b"out\n", b"err\n")


def test_no_descriptor_of_ours_reaches_the_script(sh: Path) -> None:
    # No pipe and no substitution: the shell itself would hold an end of those. What lists the folder is gone by then.
    script = 'for one in /proc/$$/fd/?; do [ ! -e "$one" ] || echo "${one##*/}"; done'
    open_files = run_framed(script, sh=sh)[0]
    assert open_files.stdout.split() == [b"0", b"1", b"2"]


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_text_that_was_cut_off_runs_nothing(sh: Path, tmp_path: Path, part: float) -> None:
    text = frame(f"touch {tmp_path}/ran", marker="m", timeout=5).replace(b"/bin/sh", bytes(sh))
    cut = text.rstrip()[: int(len(text.rstrip()) * part)]
    done = subprocess.run([sh, "-s"], input=cut, capture_output=True, check=False)
    assert done.stdout == b""
    assert not (tmp_path / "ran").exists()


def test_a_full_tmp_stops_nothing(sh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No here-document and no temporary file: TMPDIR that cannot be written is a full disk for shells."""
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    assert run_framed(f"echo {'y' * 200_000} | wc -c", sh=sh)[0].stdout.strip() == b"200001"


@pytest.mark.parametrize(
    ("where", "script"),
    [
        ("no-timeout", "sleep 300"),
        ("no-timeout", "trap '' TERM; sleep 300; sleep 300"),
        ("no-setsid", "sleep 300 & sleep 300"),
        ("busybox", "sleep 300 & sleep 300"),
    ],
)
def test_the_deadline_is_kept_without_coreutils_timeout(sh: Path, tmp_path: Path, where: str, script: str) -> None:
    """Where timeout is missing, or is BusyBox's, which would leave the children running and stdout open."""
    tools = [tool for tool in TOOLS if tool != "setsid" or where != "no-setsid"]
    path = programs(tmp_path / "bin", *tools)
    if where == "busybox":
        (tmp_path / "bin" / "timeout").symlink_to("/bin/busybox")
    started = time.monotonic()
    completed, frames = run_framed(f"echo $$ >{tmp_path}/pid\n{script}", sh=sh, path=path, timeout=1)
    assert frames.keeper == "watchdog"
    assert completed.exit_status in {124, 137}
    assert time.monotonic() - started < 20
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_watchdog_lets_a_quick_script_go(sh: Path, tmp_path: Path) -> None:
    started = time.monotonic()
    completed, frames = run_framed("echo done; exit 7", sh=sh, path=programs(tmp_path / "bin", *TOOLS), timeout=60)
    assert (completed.exit_status, completed.stdout, frames.keeper) == (7, b"done\n", "watchdog")
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("keeper", ["timeout", "watchdog"])
def test_children_that_ignore_term_go_with_the_deadline(sh: Path, tmp_path: Path, keeper: str) -> None:
    names = (*TOOLS, "timeout") if keeper == "timeout" else TOOLS
    path = programs(tmp_path / "bin", *names)
    script = f"sh -c 'trap \"\" TERM; echo $$ >{tmp_path}/child; while :; do sleep 1; done' & sleep 300"
    completed, frames = run_framed(script, sh=sh, path=path, timeout=1)
    assert (completed.exit_status, frames.keeper) == (124, keeper)
    child = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/cmdline")
    assert not child.exists() or not child.read_bytes()  # gone, or a zombie


def test_a_session_of_its_own_outlives_the_script(sh: Path, tmp_path: Path) -> None:
    script = f"setsid sh -c 'sleep 0.5; echo alive >{tmp_path}/sign' >/dev/null 2>&1 & exit 0"
    assert run_framed(script, sh=sh)[0].exit_status == 0
    end = time.monotonic() + 10
    while not (tmp_path / "sign").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert (tmp_path / "sign").read_text() == "alive\n"


def test_sudo_that_is_missing_is_a_refusal_and_runs_nothing(sh: Path, tmp_path: Path) -> None:
    completed, _ = run_framed(f"echo >{tmp_path}/ran", sh=sh, path=programs(tmp_path / "bin", *TOOLS), sudo=True)
    assert sudo_refused(completed)
    assert not (tmp_path / "ran").exists()


def test_sudo_that_wants_a_password_is_a_refusal(tmp_path: Path) -> None:
    """A simulated sudo: it answers as the real one does when a password would be needed."""
    path = programs(tmp_path / "bin", *TOOLS)
    sudo = tmp_path / "bin" / "sudo"
    sudo.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    sudo.chmod(0o755)
    completed, _ = run_framed("echo ran", path=path, sudo=True)
    assert sudo_refused(completed)
    assert completed.stdout == b""
    assert b"a password is required" in completed.stderr


@pytest.mark.skipif(
    os.getuid() != 0 or not (shutil.which("sudo") and shutil.which("setpriv")), reason="needs root, sudo and setpriv"
)
def test_the_real_sudo_refuses_a_user_without_rights() -> None:
    marker = new_marker()
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh", "-s"]
    text = frame("echo ran", marker=marker, timeout=20, sudo=True)
    done = subprocess.run(as_nobody, input=text, capture_output=True, check=False, cwd="/")
    out, err = fed(marker, done.stdout), fed(marker, done.stderr)
    assert out.status is not None
    assert out.body == b""
    assert sudo_refused(Completed(out.status, out.body, err.body, b"", 0.0))


@pytest.mark.parametrize("script", ["exit 1", "echo sudo: a password is required >&2; exit 1", "true"])
def test_a_script_that_fails_is_not_a_refusal(script: str) -> None:
    assert not sudo_refused(run_framed(script)[0])


def test_noise_is_kept_up_to_a_limit() -> None:
    unframer = fed("m", b"x" * (NOISE_LIMIT + 1000) + b"\nm begin timeout\nbody\nm end 0\n")
    assert len(unframer.noise) == NOISE_LIMIT
    assert (unframer.body, unframer.status) == (b"body", 0)


def test_a_marker_inside_a_line_is_body() -> None:
    assert fed("m", b"\nm begin\nsee m end 0\nm end 4\n").body == b"see m end 0"


def test_what_is_after_the_end_is_noise() -> None:
    unframer = fed("m", b"hello\nm begin\nbody\nm end 4\nlogout\n")
    assert (unframer.body, unframer.status, unframer.noise) == (b"body", 4, b"hellologout\n")
