"""Where the recipe's own choice certainly cannot start, another of its layouts is taken, with the reason."""

from __future__ import annotations

import pytest

from launch.choosing.outline import outline
from launch.choosing.reasons import Reason
from launch.choosing.settings import settings
from launch.plans.document import LaunchPlan
from launch.plans.make import plan_of
from launch.request import Request
from tests.unit.launch.gangs import facts, hosts
from tests.unit.launch.plans.planned import OURS, sized

MODEL = "gpt-oss-120b"


def made(name: str, mib: int, *, gpus: int = 8, setting: str = "", strategy: str | None = None) -> LaunchPlan:
    members = hosts(1)
    seen = {host: sized(one, mib) for host, one in facts(members, [gpus], name).items()}
    request = Request(MODEL, strategy=strategy, settings=settings(setting))
    return plan_of(outline(OURS.find(MODEL), request, members, seen), seen)


def why(plan: LaunchPlan, decision: str) -> Reason:
    (one,) = (one for one in plan.reasons if one.decision == decision)
    return one


def test_what_fits_is_left_as_the_recipe_has_it() -> None:
    plan = made("NVIDIA H200", 143771)
    assert plan.layout.strategy == "single_node_tp"
    assert not why(plan, "strategy").warns


@pytest.mark.parametrize(
    ("name", "mib", "setting"),
    [("NVIDIA A100-SXM4-40GB", 40960, ""), ("NVIDIA H200", 143771, "gpu-memory-utilization=0.3")],
)
def test_a_layout_that_cannot_start_gives_way_to_one_that_can(name: str, mib: int, setting: str) -> None:
    plan = made(name, mib, setting=setting)
    assert plan.memory.fits is True
    assert plan.layout.strategy == "single_node_tep"
    reason = why(plan, "strategy")
    assert reason.warns
    assert "single_node_tp, which comes first, does not fit" in reason.rule
    assert reason.numbers[0][0] == "single_node_tp needs"
    assert why(plan, "variant").source != "--variant", "nobody typed it"


def test_what_was_typed_stays() -> None:
    plan = made("NVIDIA A100-SXM4-40GB", 40960, strategy="single_node_tp")
    assert plan.layout.strategy == "single_node_tp"
    assert plan.memory.fits is False


def test_where_nothing_fits_the_choice_stays_and_says_by_how_much() -> None:
    plan = made("NVIDIA A100-SXM4-40GB", 40960, gpus=1)
    assert plan.memory.fits is False
    assert plan.memory.of == "the gang"


def test_one_gpu_of_80_gb_holds_what_found_figures_say_that_it_holds() -> None:
    """The recipe's own note: the weights take 65 GB; its figure of 96 GB would take eight of them."""
    for gpus in (1, 8):
        plan = made("NVIDIA H100 80GB HBM3", 81559, gpus=gpus)
        assert plan.memory.fits is True
        assert sum(gpu.rank is not None for gpu in plan.head.gpus) == 1
