"""Plans of small gangs, for tests of what is made of plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from launch.catalogue.find import Catalogue
from launch.choosing.outline import outline
from launch.choosing.settings import settings
from launch.plans.document import LaunchPlan
from launch.plans.make import plan_of
from launch.request import Request
from tests.unit.launch.gangs import facts, hosts

OURS = Catalogue.of()


MEMORY_MIB = {"NVIDIA H200": 143771, "NVIDIA GB300": 284208, "AMD Instinct MI355X": 294896}


def plan(
    model: str,
    counts: Sequence[int],
    name: str = "NVIDIA GB200",
    *,
    setting: str = "",
    **wanted: Any,  # noqa: ANN401  (fields of the request)
) -> LaunchPlan:
    """Of hosts tray1, tray2, ... with `counts` GPUs called `name`, which have the memory of such GPUs."""
    gang = hosts(len(counts))
    seen = {host: sized(one, MEMORY_MIB.get(name)) for host, one in facts(gang, counts, name).items()}
    request = Request(model, settings=settings(setting), **wanted)
    return plan_of(outline(OURS.find(model), request, gang, seen), seen, [("model", model)])


def sized(one: HostFacts, mib: int | None) -> HostFacts:
    assert is_known(one.gpus)
    devices = tuple(replace(gpu, memory_bytes=mib << 20) if mib else gpu for gpu in one.gpus.devices)
    return replace(one, gpus=replace(one.gpus, devices=devices))
