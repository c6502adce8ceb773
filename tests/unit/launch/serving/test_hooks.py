"""Hooks: which run, what they are told, and that one that fails is said without taking the deployment back."""

from __future__ import annotations

import sys

import pytest

from inventory.errors import BadInput, ChangeFailed
from inventory.hostsfile import build
from inventory.schema import Hook
from inventory.yamlfile import parse
from launch.console.report import Report
from launch.serving.hooks import chosen, run
from tests.unit.launch.serving.gang import GANG

ALWAYS, NAMED = Hook(run=("true",), always=True), Hook(run=("true",))


def test_those_that_always_follow_and_those_that_are_named() -> None:
    hooks = {"a": ALWAYS, "b": NAMED, "c": NAMED}
    assert [*chosen(hooks, ())] == ["a"]
    assert [*chosen(hooks, ("c", "a"))] == ["a", "c"]


def test_a_name_that_is_none_is_refused_before_anything() -> None:
    with pytest.raises(BadInput, match="announce") as refused:
        chosen({"announce": NAMED}, ("anounce",))
    assert refused.value.id == "hook-unknown"


def test_a_hook_is_words_and_knows_the_deployment(capfd: pytest.CaptureFixture[str]) -> None:
    program = "import os, sys; print(sys.argv[1], os.environ['BRINGUP_ENDPOINTS'], os.environ['BRINGUP_NAME'])"
    run({"say": Hook(run=(sys.executable, "-c", program, "$(touch /tmp/x) a;b"))}, GANG, Report())
    said = capfd.readouterr().err
    assert "hook say: $(touch /tmp/x) a;b http://10.2.0.1:8000,http://[fd00::2]:8000 deepseek-v4-pro" in said


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        (Hook(run=("false",)), "exit status 1"),
        (Hook(run=("/no/such/program",)), "No such file"),
        (Hook(run=("sleep", "30"), deadline_s=0.2), "did not end"),
    ],
)
def test_one_that_fails_is_told_behind_the_others(hook: Hook, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ChangeFailed) as failed:
        run({"bad": hook, "good": Hook(run=("echo", "still run"))}, GANG, Report())
    assert words in failed.value.observed
    assert "still run" in capfd.readouterr().err


def test_the_inventory_names_them() -> None:
    text = b"hosts: {tray1: }\nhooks:\n  announce: {run: [echo, hi], always: true}\n"
    assert build(parse(text, "hosts.yaml"), None).hooks == {"announce": Hook(run=("echo", "hi"), always=True)}


@pytest.mark.parametrize("hook", ["echo hi", "{run: echo hi}", "{run: []}", "{run: [a], allways: true}"])
def test_what_is_no_hook_is_refused(hook: str) -> None:
    with pytest.raises(BadInput):
        build(parse(f"hooks: {{a: {hook}}}\n".encode(), "hosts.yaml"), None)
