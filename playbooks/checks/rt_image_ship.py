from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, gb, skip
from playbooks.checks.docker_roots import needed_bytes, root_of
from playbooks.checks.rt_image_digest import candidates, is_pinned
from playbooks.finding import Finding, Status
from playbooks.requirements import Container, Requirements

ID = "rt.image_ship"
PRIORITY = Priority.P2
WHY = "an image that is streamed to a host needs its unpacked size there, at once"

_REQUIRED = "room for the unpacked image where docker keeps its images"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    container = needs.container
    if container is None:
        return (skip(ID, "", "the plan runs no container"),)
    there = {one.host: is_there(facts[one.host], container) for one in needs.hosts if one.host in facts}
    if not any(there.values()) or all(there.values()):
        return (skip(ID, "", "all hosts have the image, or none: nothing is shipped between them"),)
    return tuple(of_host(facts[host], container) for host, has in there.items() if not has)


def is_there(facts: HostFacts, container: Container) -> bool:
    images = facts.docker.images or () if is_known(facts.docker) else ()
    return any(is_pinned(one, container) for one in candidates(images, container))


def of_host(facts: HostFacts, container: Container) -> Finding:
    root, wanted = root_of(facts), needed_bytes(container)
    if root is None or wanted is None:
        return skip(ID, facts.host, "the size of the image or the place of docker's images is not known")
    observed = f"{gb(root.free_bytes)} free on {root.mount}"
    if root.free_bytes >= wanted:
        return Finding(ID, Status.PASS, facts.host, f"{observed}: an image of {gb(wanted)} unpacked fits")
    remedy = f"{ON_HOST}docker image prune, or data-root on a larger disk; ship by `docker save | ssh ... docker load`"
    return Finding(ID, Status.FAIL, facts.host, observed, f"{_REQUIRED}: {gb(wanted)}", remedy)
