"""Where what ranks print goes: a file per host and attempt, or a log that drops lines or fills a disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.launch_context import option
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "os.log_path"
PRIORITY = Priority.P2
WHY = "the line that says why a rank died is the one that a full disk or a rate limit drops"

_REQUIRED = "output in a file of limited size"
_REMEDY = "add to docker's arguments: --log-driver local --log-opt max-size=100m --log-opt max-file=5"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.container is None:
        told = "ranks append to a file of their deployment; the log of the attempt before is kept beside it"
        return (Finding(ID, Status.PASS, "", told),)
    if needs.container.arguments is None:
        return (skip(ID, "", "the plan does not tell the arguments of docker"),)
    wrong = fault(needs.container.arguments)
    if wrong:
        return (Finding(ID, Status.WARN, "", wrong, _REQUIRED, _REMEDY),)
    return (Finding(ID, Status.PASS, "", "docker's log is limited in size"),)


def fault(arguments: Sequence[str]) -> str | None:
    """What is wrong with where docker keeps what a container prints."""
    driver = (*option(arguments, "--log-driver"), "json-file")[0]
    settings = dict(value.partition("=")[::2] for value in option(arguments, "--log-opt"))
    if driver == "json-file" and "max-size" not in settings:
        return "docker's json-file log grows without limit (no max-size)"
    if driver == "journald":
        return "docker logs to journald, whose rate limit drops lines of verbose ranks"
    if driver == "none":
        return "docker keeps no log (--log-driver none)"
    return None
