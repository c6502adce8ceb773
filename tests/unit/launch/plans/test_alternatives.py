"""Alternatives are what they say: each is planned in turn, and gives the numbers that were foretold."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from inventory.errors import BringupError, CheckFailed
from launch.choosing.outline import outline
from launch.plans.alternatives import nearest
from launch.plans.document import Alternative
from launch.plans.make import plan_of, refuse_unfit
from launch.request import Request
from tests.unit.launch.gangs import facts, hosts
from tests.unit.launch.plans.planned import OURS, plan

CASES = [
    ("deepseek-v4-pro", [4, 4], "NVIDIA GB200"),
    ("deepseek-v4-pro", [4], "NVIDIA GB200"),
    ("deepseek-v4-pro", [8], "NVIDIA H200"),
    ("gpt-oss-120b", [8], "NVIDIA H200"),
    ("glm-5", [4], "NVIDIA GB200"),
    ("glm-5", [4, 4], "NVIDIA GB200"),
    ("kimi-k3", [4, 4], "NVIDIA GB300"),
    ("qwen3.5", [2], "NVIDIA H200"),
    ("minimax-m3", [8], "AMD Instinct MI355X"),
]


def typed(flags: str, counts: list[int]) -> tuple[dict[str, Any], list[int]]:
    """What an alternative's flags are as fields of a request, and the hosts it is then for."""
    first, value = shlex.split(flags.replace(" more host(s) in --hosts", ""))[:2] if "--" in flags[:2] else (flags, "")
    if not flags.startswith("--"):
        return {}, [*counts, *[counts[0]] * int(flags.split(maxsplit=1)[0])]
    field = {"--variant": "variant", "--strategy": "strategy", "--nodes": "nodes", "--set": "setting"}[first]
    return {field: int(value) if field == "nodes" else value}, counts


@pytest.mark.parametrize(("model", "counts", "name"), CASES)
def test_each_alternative_is_what_it_says(model: str, counts: list[int], name: str) -> None:
    made = plan(model, counts, name)
    assert made.alternatives
    for one in made.alternatives:
        wanted, hosts = typed(one.flags, counts)
        if "variant" not in wanted:
            wanted["variant"] = made.model.variant
        holds(one, model, hosts, name, wanted)


def holds(one: Alternative, model: str, counts: list[int], name: str, wanted: dict[str, Any]) -> None:
    if one.outcome == "refused":
        with pytest.raises(BringupError):
            plan(model, counts, name, **wanted)
        return
    other = plan(model, counts, name, **wanted)
    assert (other.layout.strategy, other.layout.nodes, other.model.variant) == (one.strategy, one.nodes, one.variant)
    assert other.memory.kv_tokens_gang == one.kv_tokens
    assert sum(len(rank.gpus) for _, rank in other.ranks()) == one.gpus
    assert {True: "fits", False: "short", None: "unknown"}[other.memory.fits] == one.outcome
    assert (other.memory.needed_bytes, other.memory.there_bytes) == (one.needed_bytes, one.there_bytes)


def test_nothing_fits_says_which_constraint_by_how_much_and_what_would() -> None:
    made = plan("deepseek-v4-pro", [4])
    with pytest.raises(CheckFailed) as caught:
        refuse_unfit(made)
    error = caught.value
    assert error.id == "plan.vram_fit"
    assert "768.0 GB for the gang, 192.0 GB short" in error.observed
    assert "960.0 GB" in error.required
    assert error.next_command == "the same command with 1 more host(s) in --hosts"


def test_the_nearest_is_one_of_each_kind_of_change() -> None:
    made = plan("glm-5", [4], variant="default")
    flags = [one.flags for one in nearest(made.alternatives)]
    assert flags == ["1 more host(s) in --hosts", "--variant nvfp4"]
    with pytest.raises(CheckFailed, match="does not fit") as caught:
        refuse_unfit(made)
    assert caught.value.next_command == "the same command with 1 more host(s) in --hosts, or with --variant nvfp4"


@pytest.mark.parametrize("setting", ["data-parallel-size=4", "tp=2,data-parallel-size=2"])
def test_gpus_that_the_layout_leaves_unused_hold_no_weights(setting: str) -> None:
    made = plan("deepseek-v4-pro", [8], "NVIDIA H200", setting=setting)
    assert (made.memory.of, made.memory.there_bytes) == ("the GPUs that are used", 4 * 141 * 10**9)
    with pytest.raises(CheckFailed) as caught:
        refuse_unfit(made)
    assert "without --set" in caught.value.next_command
    (back,) = (one for one in made.alternatives if one.flags.startswith("without "))
    assert back.gpus == 8


def test_hosts_that_were_left_out_are_asked_for_by_nodes() -> None:
    members = hosts(3)
    seen = facts(members, [4, 4, 4])
    made = plan_of(outline(OURS.find("deepseek-v4-pro"), Request("deepseek-v4-pro", nodes=1), members, seen), seen)
    flags = [one.flags for one in made.alternatives if one.nodes > 1]
    assert flags == ["--nodes 2"]
    two = plan_of(outline(OURS.find("deepseek-v4-pro"), Request("deepseek-v4-pro", nodes=2), members, seen), seen)
    assert [one.flags for one in two.alternatives if one.nodes > 2] == ["--nodes 3", "1 more host(s) in --hosts"]


def test_a_context_that_fits_is_the_longest_that_does() -> None:
    """A forecast from derived figures proposes and does not refuse."""
    made = plan("deepseek-v4-pro", [8], "NVIDIA H200")
    assert made.memory.fits is None
    (one,) = (one for one in made.alternatives if one.flags.startswith("--set max-model-len"))
    length = int(one.flags.partition("=")[2])
    assert one.outcome == "fits"
    longer = plan("deepseek-v4-pro", [8], "NVIDIA H200", setting=f"max-model-len={length + 1000}")
    assert longer.memory.fits is None
    assert longer.memory.needed_bytes is not None
    assert longer.memory.there_bytes is not None
    assert longer.memory.needed_bytes > longer.memory.there_bytes
