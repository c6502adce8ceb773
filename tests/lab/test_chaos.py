"""A few rounds of chaos; hundreds are `python -m tests.soak.chaos`."""

from __future__ import annotations

import pytest

from tests.soak import chaos

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-chaos"), pytest.mark.timeout(300)]

QUICK = ("kill", "slow", "cut-fabric")
"""Harms after which every host still answers: a round takes seconds."""


@pytest.mark.parametrize(("layout", "seed"), [("internal", 1), ("hybrid", 2)])
def test_nothing_wrong_is_said_whatever_strikes(machine_carries_labs: None, layout: str, seed: int) -> None:  # noqa: ARG001
    tally = chaos.run(2, 2, seed=seed, layout=layout, harms=QUICK)
    assert tally.rounds == 2
    assert not tally.wrong, str(tally)


def test_a_healthy_that_is_wrong_would_be_seen() -> None:
    """The oracle itself: it must be able to say so."""
    tally = chaos.Tally(rounds=1)
    tally.took("status", chaos.STATUS_WITHIN_S + 1, chaos.STATUS_WITHIN_S)
    assert tally.wrong
    assert chaos.Harm("kill", "tray1", 1.0, "VLLM::EngineCore").lasting
    assert not chaos.Harm("kill", "tray1", 1.0, "").lasting, "there was nothing to kill"
    assert not chaos.Harm("slow", "tray1", 1.0).lasting
