"""What every verb has in common: invoke's traps are closed, its function exists and takes exactly its flags."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import tasks
from launch import verbs
from launch.flags import HELP

ROOT = Path(__file__).resolve().parents[2]
ALL = {name: tasks.ns[name] for name in tasks.ns.task_names}
HEAVY = ("pydantic", "paramiko", "fabric", "rich", "jinja2", "psutil", "inventory", "playbooks", "launch.verbs")


@pytest.mark.parametrize("name", ALL)
def test_no_flag_can_be_taken_for_a_value(name: str) -> None:
    """`invoke deploy --modle x` must not run with a model called --modle, nor `-h` mean --hosts."""
    task = ALL[name]
    assert list(task.positional) in ([], ["host"])
    assert task.auto_shortflags is False


@pytest.mark.parametrize("name", ALL)
def test_every_verb_says_what_it_does_and_what_its_flags_mean(name: str) -> None:
    task = ALL[name]
    assert task.__doc__
    # Not `get_arguments()`: invoke takes the texts out of the task as it reads them.
    flags = (name.replace("_", "-") for name in inspect.signature(task.body).parameters)
    own = task.body.__name__
    assert not [flag for flag in flags if not {flag, f"{own}.{flag}"} & {*HELP, "-", "host"}]


@pytest.mark.parametrize("name", ALL)
def test_the_function_of_a_verb_takes_exactly_its_flags(name: str) -> None:
    function = verbs.of(ALL[name].body.__name__)
    flags = set(inspect.signature(ALL[name].body).parameters) - {"_"}
    taken = inspect.signature(function).parameters
    named = {key for key, one in taken.items() if one.kind is one.KEYWORD_ONLY}
    if any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        assert named <= flags
    else:
        assert named == flags


@pytest.mark.parametrize("words", [[], ["--help"], ["--list"]])
def test_whoever_imports_the_verbs_keeps_its_signals(words: list[str]) -> None:
    """Else a program of another kind, a test's among them, ends without a word when a peer has gone."""
    program = "import signal, tasks; print(signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN)"
    done = subprocess.run([sys.executable, "-c", program, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_listing_the_verbs_imports_nothing_heavy() -> None:
    program = f"import sys, tasks; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_verbs_stay_a_page_that_one_reads() -> None:
    assert len((ROOT / "tasks.py").read_text().splitlines()) <= 300
