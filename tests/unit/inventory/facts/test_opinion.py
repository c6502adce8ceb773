"""The second opinion: really asked on this machine, and what is made of it."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.gather import Asked, gather, script, sections
from inventory.facts.host import Cpu, SecondOpinion
from inventory.facts.opinion import disagreements, read_flags, read_opinion
from inventory.transport.local import LocalTransport
from tests.answered import Said, answers, facts, fixture

CPU = Cpu("EPYC", 1, (0, 1, 2, 3), (0, 1), 1, 2)


def said(document: object) -> dict[str, Said]:
    return {"opinion.python.1": f"/envs/a/bin/python\n{json.dumps(document)}\n"}


def test_on_this_machine_the_two_agree() -> None:
    found = gather(LocalTransport("local"), Asked(opinion=True, pythons=(sys.executable,)))
    second = found.second_opinion
    assert not isinstance(second, Unknown)
    assert second.physical_cores_machine == psutil.cpu_count(logical=False)
    assert set(second.allowed or ()) == os.sched_getaffinity(0)
    assert list(disagreements(found)) == []
    assert found.cpu_flags


def test_it_is_asked_in_the_newest_complete_environment(tmp_path: Path) -> None:
    for digest, age in (("old", 100), ("new", 0), ("incomplete", -100)):
        programs = tmp_path / "envs" / digest / "bin"
        programs.mkdir(parents=True)
        (programs / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (programs / "python").chmod(0o755)
        marker = programs.parent / "bringup-env.json"
        if digest != "incomplete":
            marker.write_text("{}")
            os.utime(marker, (1e9 - age, 1e9 - age))
    found = gather(LocalTransport("local"), Asked(state_dir=str(tmp_path), opinion=True))
    assert not isinstance(found.second_opinion, Unknown)
    assert found.second_opinion.python == f"{tmp_path}/envs/new/bin/python"


def test_nothing_is_asked_unless_wanted(tmp_path: Path) -> None:
    found = gather(LocalTransport("local"), Asked(state_dir=str(tmp_path)))
    assert isinstance(found.second_opinion, Unknown)
    assert found.second_opinion.why is Why.NOT_ASKED


def test_a_host_without_an_environment() -> None:
    found = read_opinion(answers({"opinion.flags": "flags\t: fpu avx2\n"}))
    assert found == Unknown(Why.NOT_ASKED, "no environment to ask in")


def test_an_environment_that_hangs() -> None:
    found = read_opinion(answers({"opinion.flags": "flags\t: fpu avx2\n"}, {"opinion": 124}))
    assert isinstance(found, Unknown)
    assert found.why is Why.TIMED_OUT


@pytest.mark.parametrize("out", ["", "Traceback", "[1, 2]", '{"physical_cores": 2'])
def test_an_answer_in_another_form(out: str) -> None:
    found = read_opinion(answers({"opinion.python.1": f"/p\n{out}"}))
    assert isinstance(found, Unknown)


def test_libraries_that_are_not_there() -> None:
    assert read_opinion(answers(said({}))) == SecondOpinion("/envs/a/bin/python", None, None, None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("flags\t\t: fpu avx2 fpu\n", ("avx2", "fpu")),
        ("Features\t: fp asimd sve\n", ("asimd", "fp", "sve")),
        ("isa\t: rv64imafdc\n", ("rv64imafdc",)),
    ],
)
def test_flags(line: str, expected: tuple[str, ...]) -> None:
    assert read_flags(answers({"opinion.flags": line})) == expected


@pytest.mark.parametrize(
    ("second", "flags", "expected"),
    [
        (SecondOpinion("p", 2, (1, 0), ("avx2", "osxsave")), ("avx2",), []),
        (SecondOpinion("p", None, None, None), ("avx2",), []),
        (SecondOpinion("p", 4, None, None), ("avx2",), ["2 physical cores by /sys, 4 by psutil"]),
        (SecondOpinion("p", 2, (0, 1, 2, 3), None), (), ["allowed CPUs 0-1 by /proc, 0-3 by psutil"]),
        (
            SecondOpinion("p", 2, None, ("amx_tile",)),
            ("avx2",),
            ["CPU flags: amx_tile only by py-cpuinfo, avx2 only by the kernel"],
        ),
    ],
)
def test_disagreements_name_both(second: SecondOpinion, flags: tuple[str, ...], expected: list[str]) -> None:
    host = dataclasses.replace(facts(fixture("cpu-only")), cpu=CPU, cpu_flags=flags, second_opinion=second)
    assert list(disagreements(host)) == expected


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_every_shell_can_parse_the_section(shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    text = sections(Asked(opinion=True, pythons=("/opt/it's/python",)))
    argv = [program, *(["ash"] if shell == "busybox" else []), "-n"]
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_script_still_fits_into_one_argument() -> None:
    assert len(script(Asked(opinion=True)).encode()) < 100_000
