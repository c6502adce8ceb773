from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, of_each, skip
from playbooks.checks.rt_image_digest import candidates, is_pinned
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "rt.image_kept"
PRIORITY = Priority.P1
WHY = "registries remove nightly images: the deployment that works today cannot be made again tomorrow"

_REQUIRED = "a pin that lasts, and the image kept on the hosts"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    container = needs.container
    if container is None or container.image is None:
        return (skip(ID, "", "the plan pins no image"),)
    known, _ = of_each(facts, needs, lambda host: host.docker)
    held = [
        h for h, one in known.items() if any(is_pinned(i, container) for i in candidates(one.images or (), container))
    ]
    lacks = [one.host for one in needs.hosts if one.host not in held]
    name = container.image + (f"@{container.digest}" if container.digest else "")
    if "nightly" in container.image.rpartition(":")[2]:
        remedy = f"docker pull {name}, and docker save it to a file that is kept; or pin a release"
        observed = f"{name} is a nightly build, kept on {', '.join(held) or 'no host'}"
        return (Finding(ID, Status.WARN, "", observed, _REQUIRED, remedy),)
    missing = f"; to be pulled on {', '.join(lacks)}" if lacks else ""
    return (Finding(ID, Status.PASS, "", f"{name} is a release{missing}"),)
