from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_value, odd_ones, of_each, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "os.arch"
PRIORITY = Priority.P0
WHY = "a wheel or image of the other architecture dies at the first instruction"

BUILDS = ("x86_64", "aarch64")  # vLLM publishes wheels for these
_REQUIRED = f"one architecture on all hosts of the gang, {' or '.join(BUILDS)}"
_LOOK = f"{ON_HOST}uname -m"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    known, unknown = of_each(facts, needs, _architecture)
    findings = [unread(ID, host, fact, _REQUIRED, _LOOK) for host, fact in unknown.items()]
    return (*findings, *(compare(known, needs.build.platforms or BUILDS) if known else ()))


def _architecture(facts: HostFacts) -> Maybe[str]:
    return facts.system if isinstance(facts.system, Unknown) else facts.system.architecture


def compare(known: Mapping[str, str], builds: tuple[str, ...]) -> tuple[Finding, ...]:
    without = tuple(host for host, value in known.items() if value not in builds)
    wrong = odd_ones(known) or without
    if without and not odd_ones(known):
        required = f"an architecture that the build is made for: {', '.join(builds)}"
        remedy = f"choose the wheel or image for {known[without[0]]}, or other hosts"
        return (Finding(ID, Status.FAIL, "", by_value(known), required, remedy),)
    if wrong:
        remedy = f"leave out {', '.join(wrong)}: invoke deploy --hosts with like hosts only"
        return (Finding(ID, Status.FAIL, "", by_value(known), _REQUIRED, remedy),)
    return (Finding(ID, Status.PASS, "", by_value(known)),)
