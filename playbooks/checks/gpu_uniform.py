from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import Gpus, HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_value, odd_ones, of_each, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "gpu.uniform"
PRIORITY = Priority.P1
WHY = "the slowest GPU sets the pace of every step, and unlike drivers make collectives hang"

_LOOK = f"{ON_HOST}sudo dmesg | grep -iE 'nvrm|amdgpu' | tail -20"
_REQUIRED = "every host of the gang has the same GPU model, memory, driver and vbios, all real or all simulated"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    users = [one.host for one in needs.hosts if one.gpus or not one.processes.total]
    if len(users) < 2:
        return (skip(ID, "", "fewer than two hosts use GPUs"),)
    known, unknown = of_each(facts, needs, lambda host: host.gpus)
    findings = [unread(ID, h, fact, _REQUIRED, _LOOK) for h, fact in unknown.items() if h in users]
    gpus = {host: known[host] for host in users if host in known}
    return (*findings, *(compare(gpus) if gpus else ()))


def compare(gpus: Mapping[str, Gpus]) -> tuple[Finding, ...]:
    """Model, memory and realness must be equal; a driver or a vbios that differs is a warning."""
    models = {host: models_of(one) for host, one in gpus.items()}
    drivers = {host: f"driver {one.driver or 'none'}" for host, one in gpus.items()}
    if len(set(models.values())) > 1:
        remedy = f"leave out {', '.join(odd_ones(models))}: invoke deploy --hosts with like hosts only"
        return (Finding(ID, Status.FAIL, "", by_value(models), _REQUIRED, remedy),)
    if len(set(drivers.values())) > 1:
        remedy = f"install the same driver on {', '.join(odd_ones(drivers))}, then reboot it"
        return (Finding(ID, Status.WARN, "", by_value(drivers), _REQUIRED, remedy),)
    boards = {host: vbios_of(one) for host, one in gpus.items() if vbios_of(one)}
    if len(set(boards.values())) > 1:
        remedy = f"bring the firmware of {', '.join(odd_ones(boards))} to the same version"
        return (Finding(ID, Status.WARN, "", by_value(boards), _REQUIRED, remedy),)
    model, driver = next(iter(models.values())), next(iter(drivers.values()))
    return (Finding(ID, Status.PASS, "", f"{model}, {driver} on {len(gpus)} hosts"),)


def vbios_of(gpus: Gpus) -> str:
    """Empty where it is not told."""
    told = sorted({gpu.health.vbios for gpu in gpus.devices if gpu.health.vbios})
    return f"vbios {', '.join(told)}" if told else ""


def models_of(gpus: Gpus) -> str:
    kinds = sorted({(gpu.name, gpu.memory_bytes or 0) for gpu in gpus.devices})
    text = ", ".join(f"{name!r} of {size >> 20} MiB" if size else repr(name) for name, size in kinds)
    return (text or "no GPU") + (" (simulated)" if gpus.simulated else "")
