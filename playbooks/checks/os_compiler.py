"""Triton, Inductor and FlashInfer compile when a rank starts: with the host's compiler and Python's headers."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts, Toolchain
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.launch_context import gpu_count
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "os.compiler"
PRIORITY = Priority.P1
WHY = "kernels that are compiled at the start fail after minutes of loading, in the middle of a long traceback"

_REQUIRED = "a C compiler with its headers, and those of the environment's Python"
_BY_HAND = f"{ON_HOST}sudo apt-get install gcc libc6-dev || sudo dnf install gcc glibc-devel"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.container is not None:
        return (skip(ID, "", "ranks in a container use the compiler of the image"),)
    return tuple(_of_host(facts[one.host], one, needs.environment) for one in needs.hosts if one.host in facts)


def _of_host(facts: HostFacts, needs: HostRequirements, environment: str | None) -> Finding:
    if isinstance(facts.toolchain, Unknown):
        return skip(ID, facts.host, f"the compiler is {facts.toolchain}")
    bad = Status.FAIL if gpu_count(facts, needs) else Status.WARN
    tools, remedy = facts.toolchain, by_playbook(facts.host, "tools", _BY_HAND)
    if tools.compiler is None:
        return Finding(ID, bad, facts.host, "there is no C compiler (cc)", _REQUIRED, remedy)
    if tools.fault:
        return Finding(ID, bad, facts.host, f"{tools.compiler} makes no library: {tools.fault}", _REQUIRED, remedy)
    folder = without_headers(tools, facts, environment)
    if folder:
        remedy = f"{ON_HOST}sudo apt-get install python3-dev || sudo dnf install python3-devel  # of the same version"
        return Finding(ID, bad, facts.host, f"the Python of {folder} has no Python.h", _REQUIRED, remedy)
    return Finding(ID, Status.PASS, facts.host, f"{tools.compiler} makes a library")


def without_headers(tools: Toolchain, facts: HostFacts, environment: str | None) -> str | None:
    """The planned environment, where its Python lacks headers; what stands in for an engine compiles nothing."""
    known = facts.software.environments if is_known(facts.software) else ()
    simulated = any(one.digest == environment and one.simulated for one in known)
    found = (folder for folder, has in tools.python_headers if folder.rpartition("/")[2] == environment and not has)
    return None if simulated else next(found, None)
