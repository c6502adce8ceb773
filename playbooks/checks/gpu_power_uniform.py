from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from inventory.facts.gpu import commands
from inventory.facts.host import GpuHealth, HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.devices import planned
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "gpu.power_uniform"
PRIORITY = Priority.P2
WHY = "one slow GPU slows every expert-parallel step of all ranks"

APART = 0.05


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    healths = {
        f"{one.host} GPU {gpu.index}": gpu.health
        for one in needs.hosts
        if one.host in facts
        for gpu in planned(facts[one.host], one)
    }
    found = [*odd(healths, "power_limit_w", "W"), *odd(healths, "clock_max_mhz", "MHz")]
    if found:
        required = "the power limit and the highest clock of all planned GPUs within 5 %"
        remedy = f"{ON_HOST}{commands.POWER}  # and set what the others have"
        return (Finding(ID, Status.WARN, "", "; ".join(found), required, remedy),)
    told = sum(health.power_limit_w is not None or health.clock_max_mhz is not None for health in healths.values())
    if told < 2:
        return (skip(ID, "", "fewer than two planned GPUs tell their power limit or clock"),)
    return (Finding(ID, Status.PASS, "", f"{told} GPUs have the same power limit and clock"),)


def odd(healths: Mapping[str, GpuHealth], field: str, unit: str) -> list[str]:
    """The GPUs whose value is more than 5 % from what most have."""
    values = {name: value for name, health in healths.items() if (value := getattr(health, field)) is not None}
    if len(values) < 2:
        return []
    usual = median(values.values())
    apart = {name: value for name, value in values.items() if abs(value - usual) > APART * usual}
    return [f"{name}: {value:g} {unit}, most have {usual:g} {unit}" for name, value in apart.items()]
