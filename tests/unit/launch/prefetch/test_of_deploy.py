from __future__ import annotations

from launch.prefetch.of_deploy import BEFORE, without_weights
from playbooks.plan import FORMAT_VERSION, Phase, Plan, changes_for
from playbooks.steps.directory import directory
from playbooks.steps.weights import Checkpoint, is_prefetched, made_weights, prefetched_weights
from tests.unit.playbooks.sh import sh

CHECKPOINT = Checkpoint("org/repo", "c" * 40, "/var/lib/bringup/weights/org--repo/c")


def test_an_apply_leaves_to_the_prefetch_what_only_that_can_bring() -> None:
    steps = (
        directory("/var/lib/bringup/caches", mode="0755", why="a test"),
        prefetched_weights(CHECKPOINT),
    )
    changes = changes_for("tray1", steps, {steps[0].id: "absent", steps[1].id: "partial"})
    plan = Plan(FORMAT_VERSION, "d", "g", "x", ("tray1",), (), changes)
    assert [one.id for one in without_weights(plan).changes] == [steps[0].id]
    assert [one.id for one in plan.changes if is_prefetched(one)] == ["weights org/repo"]
    assert Phase.PROVISION in BEFORE
    assert Phase.PREFETCH not in BEFORE


def test_weights_that_are_made_on_the_host_stay_changes_of_the_apply() -> None:
    step = made_weights(CHECKPOINT, python="python3", program="pass\n", arguments=())
    (change,) = changes_for("tray1", (step,), {step.id: "absent"})
    assert not is_prefetched(change)


def test_without_the_prefetch_the_step_ends_with_an_error_and_not_with_nothing_done() -> None:
    done = sh(prefetched_weights(CHECKPOINT).script)
    assert done.returncode == 1
    assert "prefetch" in done.stderr
