from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Why, is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.stored import missing_fact
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "rt.docker_access"
PRIORITY = Priority.P1
WHY = "without access to docker nothing of a container deployment can be done"

_REQUIRED = "the login user may talk to a docker daemon that answers"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.container is None:
        return (skip(ID, "", "the plan runs no container"),)
    return tuple(of_host(facts[one.host]) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts) -> Finding:
    docker = facts.docker
    if is_known(docker):
        return Finding(ID, Status.PASS, facts.host, f"docker answers; images lie in {docker.root or 'its own folder'}")
    if docker.why in {Why.REFUSED, Why.MISSING_TOOL}:
        remedy = f'{ON_HOST}sudo usermod -aG docker "$USER", then a new login'
        missing = f"{ON_HOST}install docker with the vendor's container toolkit"
        observed = docker.detail or str(docker)
        look = missing if docker.why is Why.MISSING_TOOL else remedy
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, look)
    return missing_fact(ID, facts.host, docker, _REQUIRED, f"{ON_HOST}docker info; systemctl status docker")
