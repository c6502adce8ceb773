"""A few rounds of the soak of `install`, one blow of each kind; `python -m tests.soak.install` does hundreds."""

from __future__ import annotations

import pytest

from tests.soak.blows import BLOWS
from tests.soak.install import soak
from tests.unit.playbooks.wheel import real_uv

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]


def test_a_run_that_is_struck_converges_and_never_calls_half_done_done(machine_carries_labs: None) -> None:  # noqa: ARG001
    if real_uv() is None:
        pytest.skip("uv is not here as a program")
    done = soak(7, seed=11)
    assert not done.half_done, "\n".join(done.half_done)
    assert not done.not_converged, "\n".join(done.not_converged)
    assert set(done.struck) == set(BLOWS), done.report()
