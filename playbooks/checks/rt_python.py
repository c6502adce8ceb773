from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip, unread
from playbooks.checks.stored import planned_environment
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "rt.python"
PRIORITY = Priority.P1
WHY = "for a Python that the wheel is not made for, an installer quietly takes an older vLLM"

_BOUND = re.compile(r"(>=|<=|<|>|==|!=)\s*(\d+)\.(\d+)")


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.container is not None or needs.build.python is None:
        return (skip(ID, "", "the plan does not tell which Python, or runs an image"),)
    return tuple(of_host(facts[one.host], one, needs) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, _host: HostRequirements, needs: Requirements) -> Finding:
    required = f"Python {needs.build.python}"
    if not is_known(facts.software):
        return unread(ID, facts.host, facts.software, required, f"{ON_HOST}python3 --version; uv --version")
    environment = planned_environment(facts, needs.environment, needs.vllm_version)
    if environment is not None and environment.python:
        return judge(facts.host, environment.python, required, str(needs.build.python), "of the environment")
    if facts.software.uv:
        return Finding(ID, Status.PASS, facts.host, f"uv {facts.software.uv} finds or fetches a {required}")
    if facts.software.python is None:
        return skip(ID, facts.host, "neither a Python nor uv was found: the plan brings its own")
    return judge(facts.host, facts.software.python, required, str(needs.build.python), "of the system")


def judge(host: str, version: str, required: str, wanted: str, whose: str) -> Finding:
    fits = within(version, wanted)
    if fits is None or fits:
        return Finding(ID, Status.PASS, host, f"Python {version} {whose}")
    remedy = f"{ON_HOST}uv python install {lowest(wanted)}  # or install that Python by the package manager"
    return Finding(ID, Status.FAIL, host, f"Python {version} {whose}", required, remedy)


def within(version: str, wanted: str) -> bool | None:
    """Whether a minor version keeps all bounds; None: it cannot be told."""
    told = re.match(r"(\d+)\.(\d+)", version)
    if told is None:
        return None
    ours = (int(told[1]), int(told[2]))
    return all(keeps(ours, sign, (int(a), int(b))) for sign, a, b in _BOUND.findall(wanted))


def keeps(ours: tuple[int, int], sign: str, bound: tuple[int, int]) -> bool:
    kept = {">=": ours >= bound, "<=": ours <= bound, "<": ours < bound, ">": ours > bound}
    return {**kept, "==": ours == bound, "!=": ours != bound}[sign]


def lowest(wanted: str) -> str:
    found = re.search(r">=\s*(\d+\.\d+)", wanted)
    return found[1] if found else "3.12"
