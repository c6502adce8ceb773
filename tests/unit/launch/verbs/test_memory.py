"""`invoke memory`: flags to output and exit codes, offline."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import tasks
from inventory.errors import BadInput, ExitCode
from launch.verbs import memory, planning

BUNDLE = Path(__file__).resolve().parents[3] / "fixtures" / "hosts"
FLAGS = {name: one.default for name, one in list(inspect.signature(tasks.ns["memory"].body).parameters.items())[1:]}
PLAN = {name: one.default for name, one in list(inspect.signature(tasks.ns["plan"].body).parameters.items())[1:]}


def call(**flags: Any) -> ExitCode:  # noqa: ANN401
    return memory.memory(**{**FLAGS, "model": "deepseek-v4-pro", **flags})


def test_on_hardware_the_two_numbers_of_the_log_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(hardware="gb200", nodes="2") is ExitCode.DONE
    said = capsys.readouterr().out
    assert "GPU KV cache size: at most 2,354,694 tokens" in said
    assert "it fits as far as is known" in said


def test_what_is_certainly_too_small_is_exit_4(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(model="kimi-k3", hardware="h100", nodes="2") is ExitCode.CHECK_FAILED
    assert "it does not fit: vram_minimum_gb of the recipe needs 1,680.0 GB of 1,280.0 GB" in capsys.readouterr().out


@pytest.mark.parametrize(("model", "hosts"), [("deepseek-v4-pro", "h200-hgx"), ("gpt-oss-120b", "gb200-tray")])
def test_it_decides_as_the_plan_does(model: str, hosts: str, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = {"model": model, "hosts": hosts, "replay": str(BUNDLE), "json": True}
    code = call(**wanted)
    ours = json.loads(capsys.readouterr().out)["data"]
    assert planning.plan(**{**PLAN, **wanted}) is code
    theirs = json.loads(capsys.readouterr().out)["data"]["memory"]
    assert (ours["fits"], ours["plan"]["tokens"]) == (theirs["fits"], theirs["kv_tokens"])


def test_derived_figures_refuse_nothing_and_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(hosts="h200-hgx", replay=str(BUNDLE)) is ExitCode.DONE
    assert (
        "it may not fit: the cache of one request of 800,000 tokens needs 14.1 GB of 7.5 GB" in capsys.readouterr().out
    )


def test_the_best_of_the_hosts_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(model="gpt-oss-120b", hosts="h200-hgx,gb200-tray", nodes="1", replay=str(BUNDLE)) is ExitCode.DONE
    assert "each GPU has 140 GiB" in capsys.readouterr().out


def test_a_bundle_needs_no_selection_as_for_a_plan(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be used as a bundle"):
        call(replay=str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({}, "either --hosts or --hardware"),
        ({"hosts": "a", "hardware": "gb200"}, "either --hosts or --hardware"),
        ({"hardware": "gb200", "context": "2000000"}, "at most 1048576"),
        ({"hardware": "gb200", "context": "0"}, "--context"),
        ({"hardware": "gb200", "nodes": "0"}, "--nodes"),
        ({"hardware": "gb200", "config": "/dev/null"}, "config.json"),
        ({"hardware": "h200", "model": "ernie-5.5-flash"}, "nothing is known of the architecture"),
    ],
)
def test_bad_input_is_exit_2(flags: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput) as caught:
        call(**flags)
    assert says in str(caught.value)
    assert caught.value.next_command
