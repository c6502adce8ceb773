"""The end of a verb: its own exit code, whoever reads, whatever the disk is like, whoever ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INVOKE = str(Path(sys.executable).with_name("invoke"))
FAILS = (INVOKE, "diagnose", "--replay", "tests/fixtures/hosts")  # finds a failure: exit 6
TABLE = (INVOKE, "recipes.list")


def code(words: tuple[str, ...], redirected: str) -> tuple[int, str]:
    """The exit code and stderr of the words in a shell, so redirected."""
    script = f'"$@" {redirected}'
    done = subprocess.run(["bash", "-c", script, "-", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "redirected",
    [
        "| head -n 1 >/dev/null; exit ${PIPESTATUS[0]}",
        "| true; exit ${PIPESTATUS[0]}",
        "2>&1 | true; exit ${PIPESTATUS[0]}",
        ">&-",
        "2>&-",
        ">&- 2>&- <&-",
    ],
)
@pytest.mark.parametrize(("words", "expected"), [(FAILS, 6), (TABLE, 0)])
def test_who_does_not_read_changes_no_exit_code(words: tuple[str, ...], expected: int, redirected: str) -> None:
    assert code(words, redirected) == (expected, "")


@pytest.mark.parametrize(("words", "expected"), [(FAILS, 6), (TABLE, 2)])
def test_what_a_full_disk_did_not_take_is_told(words: tuple[str, ...], expected: int) -> None:
    exit_code, said = code(words, ">/dev/full")
    assert exit_code == expected
    assert "[output-lost]" in said
    assert "bug" not in said


def test_a_terminal_without_every_letter_is_no_bug() -> None:
    words = (INVOKE, "probe", "--replay", "tests/fixtures/hosts", "--host-detail")
    exit_code, said = code(words, "| LC_ALL=C grep -c '[^ -~]'; exit ${PIPESTATUS[0]}")
    assert (exit_code, said) == (0, "")
    assert code(("env", "PYTHONIOENCODING=ascii", *words), ">/dev/null") == (0, "")


@pytest.mark.parametrize("words", [("--list",), ("deploy", "--help"), ()])
def test_help_for_nobody_is_no_traceback(words: tuple[str, ...]) -> None:
    assert code((INVOKE, *words), "| true")[1] == ""


SLOW = """
import sys, time
from launch import entry, verbs
def slow(**_):
    try:
        print("begun", flush=True)
        time.sleep(60)
    finally:
        print("locks given back", flush=True)
verbs.of = lambda name: slow
entry.run_verb("slow", {})
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_whoever_ends_it_what_was_begun_is_cleaned_up(number: signal.Signals) -> None:
    def default() -> None:  # a shell in the background ignores SIGINT for its children
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with subprocess.Popen(
        [sys.executable, "-c", SLOW],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default,  # noqa: PLW1509  (nothing here has threads)
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        assert process.stdout.read() == "locks given back\n"
        assert "interrupted: work that was started on the hosts goes on there" in process.stderr.read()
    assert process.returncode == 130


def test_a_bug_is_told_without_a_file_where_none_can_be_written(tmp_path: Path) -> None:
    program = SLOW.replace("time.sleep(60)", "raise RuntimeError('odd')").replace("import sys, time", "import tempfile")
    program = f"import tempfile\ntempfile.tempdir = '{tmp_path}/none'\n{program}"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "this is a bug in bringup: RuntimeError: odd\n  next: report it with what follows\n" in done.stderr
