"""How long a stop waits before it kills, against how long the engine may take to end its requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inventory.facts.base import is_known
from inventory.facts.host import Container, HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.mounted import values
from playbooks.finding import Finding, Status
from playbooks.requirements import Container as PlannedContainer
from playbooks.requirements import HostRequirements, Requirements

ID = "rt.stop_timeout"
PRIORITY = Priority.P1
WHY = "a stop that kills too early cuts off requests and leaves GPU memory behind"

DOCKER_DEFAULT_S = 10
MARGIN_S = 30


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.shutdown_timeout_s is None or (needs.container is None and needs.stop_timeout_s is None):
        return (skip(ID, "", "the plan does not tell how long a stop may take"),)
    return tuple(of_host(facts.get(one.host), one, needs) for one in needs.hosts)


def of_host(facts: HostFacts | None, host: HostRequirements, needs: Requirements) -> Finding:
    drain = needs.shutdown_timeout_s or 0
    timers = dict(timers_of(facts, needs))
    short = {what: seconds for what, seconds in timers.items() if seconds <= drain + MARGIN_S}
    if not short:
        return Finding(ID, Status.PASS, host.host, f"{shown(timers)}; the engine may take {drain} s")
    required = f"more than --shutdown-timeout {drain} s and {MARGIN_S} s to spare"
    remedy = (
        f"docker run --stop-timeout {drain + 2 * MARGIN_S}; one that runs: {ON_HOST}docker stop -t {drain + 60} NAME"
    )
    if needs.container is None:
        remedy = f"TimeoutStopSec={drain + 2 * MARGIN_S} in the unit, or a shorter --shutdown-timeout"
    # A killed process of ROCm leaves the GPU unusable until it is reset.
    grave = (needs.hardware or "").startswith("mi")
    return Finding(ID, Status.FAIL if grave else Status.WARN, host.host, shown(short), required, remedy)


def shown(timers: Mapping[str, int]) -> str:
    return "; ".join(f"{what} is killed after {seconds} s" for what, seconds in timers.items())


def timers_of(facts: HostFacts | None, needs: Requirements) -> Iterator[tuple[str, int]]:
    if needs.container is None:
        yield "the unit", needs.stop_timeout_s or 0
        return
    planned = planned_timeout(needs.container)
    running = facts.docker.containers if facts and is_known(facts.docker) else ()
    ours = [one for one in running or () if is_ours(one, needs)]
    if not ours or planned is not None or needs.container.arguments is not None:
        yield "the new container", DOCKER_DEFAULT_S if planned is None else planned
    for one in ours:
        default = one.stop_timeout_s is None
        seconds = DOCKER_DEFAULT_S if default else one.stop_timeout_s or 0
        yield f"container {one.name or 'that runs'}{' (the default of docker)' if default else ''}", seconds


def planned_timeout(container: PlannedContainer) -> int | None:
    """Of the plan, or of the arguments of `docker run`."""
    if container.stop_timeout_s is not None:
        return container.stop_timeout_s
    told = next(iter(values(container.arguments or (), "--stop-timeout")), "")
    return int(told) if told.isdigit() else None


def is_ours(one: Container, needs: Requirements) -> bool:
    """By its name, or by the planned image; a container without a name is the one that was asked about."""
    image = needs.container.image if needs.container else None
    return (
        not one.name or one.name in {needs.name, f"bringup-{needs.name}"} or (image is not None and one.image == image)
    )
