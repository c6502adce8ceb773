from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "rt.image_platform"
PRIORITY = Priority.P0
WHY = "an image for another processor is pulled without a word, and ends with `exec format error`"

_NAMES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64"}


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    container = needs.container
    if container is None or container.platforms is None:
        return (skip(ID, "", "the plan runs no container, or nobody asked which platforms its image has"),)
    platforms = container.platforms
    return tuple(of_host(facts[one.host], container.image, platforms) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, image: str | None, platforms: tuple[str, ...]) -> Finding:
    required = "an image for the processor of every host"
    if not is_known(facts.system):
        return unread(ID, facts.host, facts.system, required, f"{ON_HOST}uname -m")
    machine = facts.system.architecture
    wanted = _NAMES.get(machine, machine)
    offered = {one.split("/")[1] if "/" in one else one for one in platforms}
    if wanted in offered:
        return Finding(ID, Status.PASS, facts.host, f"{image or 'the image'} has {wanted} for {machine}")
    observed = f"{image or 'the image'} has {', '.join(sorted(offered))}, the host is {machine} ({wanted})"
    remedy = f"docker manifest inspect {image or 'IMAGE'}  # choose a tag that has {wanted}"
    return Finding(ID, Status.FAIL, facts.host, observed, required, remedy)
