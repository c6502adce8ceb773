"""The same vLLM everywhere: digest, version, real or simulated. What is missing the plan will install."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import Environment, HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_value, odd_ones, of_each, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "rt.version_lock"
PRIORITY = Priority.P0
WHY = "ranks of unlike versions hang in the first collective instead of saying that they differ"

_LOOK = f"{ON_HOST}cat /var/lib/bringup/envs/*/bringup-env.json"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    required = f"vLLM {needs.vllm_version} from one lock on every host"
    known, unknown = of_each(facts, needs, _environments)
    findings = [unread(ID, host, fact, required, _LOOK) for host, fact in unknown.items()]
    used = {host: describe(usable(of_host, needs)) for host, of_host in known.items()}
    there = {host: text for host, text in used.items() if text}
    return (*findings, *(compare(there, len(known), required, needs) if known else ()))


def _environments(facts: HostFacts) -> Maybe[tuple[Environment, ...]]:
    return facts.software if isinstance(facts.software, Unknown) else facts.software.environments


def usable(environments: tuple[Environment, ...], needs: Requirements) -> tuple[Environment, ...]:
    """What the ranks could run in: the pinned digest, or any of the version when none is pinned."""
    return tuple(
        one
        for one in environments
        if one.complete
        and (one.digest == needs.environment if needs.environment else one.vllm_version == needs.vllm_version)
    )


def describe(environments: tuple[Environment, ...]) -> str:
    parts = {f"{one.vllm_version} {one.digest[:12]}{' (simulated)' if one.simulated else ''}" for one in environments}
    return " or ".join(sorted(parts))


def compare(there: Mapping[str, str], hosts: int, required: str, needs: Requirements) -> tuple[Finding, ...]:
    if not there:
        return (Finding(ID, Status.PASS, "", f"vLLM {needs.vllm_version} is on no host yet: the plan installs it"),)
    wrong = {host: text for host, text in there.items() if not text.startswith(needs.vllm_version + " ")}
    if wrong or len(set(there.values())) > 1:
        odd = ", ".join(wrong or odd_ones(there))
        remedy = f"on {odd}: sudo mv /var/lib/bringup/envs/DIGEST /var/tmp/  # the next deploy installs it again"
        return (Finding(ID, Status.FAIL, "", by_value(there), required, remedy),)
    return (Finding(ID, Status.PASS, "", f"{by_value(there)}; {hosts - len(there)} hosts get it by the plan"),)
