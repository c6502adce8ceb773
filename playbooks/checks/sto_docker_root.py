from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, gb, skip
from playbooks.checks.docker_roots import UNPACKED, needed_bytes, root_of
from playbooks.checks.rt_image_ship import is_there
from playbooks.checks.stored import missing_fact
from playbooks.finding import Finding, Status
from playbooks.requirements import Container, Requirements

ID = "sto.docker_root"
PRIORITY = Priority.P1
WHY = "layers go where docker keeps its images, often a small /var, however large the other disks are"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    container = needs.container
    wanted = needed_bytes(container) if container else None
    if container is None or wanted is None:
        return (skip(ID, "", "the plan runs no container, or does not tell the size of its image"),)
    return tuple(of_host(facts[one.host], container, wanted) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, container: Container, wanted: int) -> Finding:
    required = f"{gb(wanted)} free where docker keeps its images, {UNPACKED} times the compressed image"
    look = f"{ON_HOST}df -B1 \"$(docker info -f '{{{{.DockerRootDir}}}}')\""
    if not is_known(facts.docker):
        return missing_fact(ID, facts.host, facts.docker, required, look)
    if is_there(facts, container):
        return Finding(ID, Status.PASS, facts.host, "the image is there already")
    root = root_of(facts)
    if root is None:
        return Finding(ID, Status.UNKNOWN, facts.host, f"nobody told what {facts.docker.root} lies on", required, look)
    observed = f"{gb(root.free_bytes)} free on {root.mount}, which holds {facts.docker.root}"
    if root.free_bytes >= wanted:
        return Finding(ID, Status.PASS, facts.host, observed)
    remedy = f'{ON_HOST}set "data-root" in /etc/docker/daemon.json to a larger disk, then systemctl restart docker'
    return Finding(ID, Status.FAIL, facts.host, observed, required, remedy)
