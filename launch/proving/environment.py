"""The steps of an engine with the proof of its environment behind the step that makes it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playbooks.checks.devices import planned
from playbooks.steps.proof import environment_proof

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.facts.host import HostFacts
    from launch.building.engine import Engine
    from playbooks.layout import Layout
    from playbooks.plan import Step
    from playbooks.requirements import HostRequirements


def proved(engine: Engine, layout: Layout, needs: HostRequirements, facts: HostFacts) -> Iterator[Step]:
    """The same steps; an image has proved itself where it was built."""
    for step in engine.steps:
        yield step
        if engine.wanted is not None and step.id == f"environment {engine.wanted.name}":
            capabilities = [gpu.compute_capability for gpu in planned(facts, needs) if gpu.compute_capability]
            yield environment_proof(
                engine.wanted,
                folder=engine.environment,
                proofs=layout.proofs,
                env=dict(needs.env),
                capabilities=capabilities,
            )
