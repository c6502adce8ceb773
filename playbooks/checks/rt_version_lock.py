"""The same vLLM everywhere: digest, version, real or simulated. What is missing the plan will install."""

from __future__ import annotations

import re
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
    drifted = drift({host: packages_of(usable(of_host, needs)) for host, of_host in known.items()}, needs)
    return (*findings, *(drifted or compare(there, len(known), required, needs) if known else ()))


def _environments(facts: HostFacts) -> Maybe[tuple[Environment, ...]]:
    return facts.software if isinstance(facts.software, Unknown) else facts.software.environments


def usable(environments: tuple[Environment, ...], needs: Requirements) -> tuple[Environment, ...]:
    """What the ranks could run in: the pinned digest, or any of the version when none is pinned.

    One without a digest nobody chose by it: it is the one that ranks are started in.
    """
    return tuple(one for one in environments if one.complete and (not one.digest or is_meant(one, needs)))


def is_meant(one: Environment, needs: Requirements) -> bool:
    return one.digest == needs.environment if needs.environment else is_version(one, needs)


def is_version(one: Environment, needs: Requirements) -> bool:
    return not needs.vllm_version or one.vllm_version == needs.vllm_version


Packages = frozenset[tuple[str, str]]


def packages_of(environments: tuple[Environment, ...]) -> Packages:
    """Of the one environment that can be meant; nothing where there are several, or it does not tell."""
    return frozenset(environments[0].packages) if len(environments) == 1 else frozenset()


def drift(packages: Mapping[str, Packages], needs: Requirements) -> tuple[Finding, ...]:
    """A package that differs from the lock, or between hosts: an environment is never changed after it was made."""
    told = {host: found for host, found in packages.items() if found}
    odd = [f"{host} has {name} {version}" for host, found in told.items() for name, version in off_lock(found, needs)]
    if not odd and len(set(told.values())) > 1:
        common = frozenset.intersection(*told.values())
        odd = [f"{host} has {' '.join(one)}" for host, found in told.items() for one in sorted(found - common)]
    if not odd:
        return ()
    observed = "; ".join(odd[:4]) + (f"; and {len(odd) - 4} more" if len(odd) > 4 else "")
    remedy = f"{ON_HOST}sudo mv the environment below /var/lib/bringup/envs aside; the next deploy makes it anew"
    return (Finding(ID, Status.FAIL, "", observed, "the packages of one lock on every host", remedy),)


def off_lock(found: Packages, needs: Requirements) -> list[tuple[str, str]]:
    """Packages whose version the lock does not have; a build's own suffix (`+cu130`) counts only where it is pinned."""
    pinned: dict[str, set[str]] = {}
    for name, version in needs.build.packages:
        pinned.setdefault(re.sub(r"[-_.]+", "-", name).lower(), set()).add(version)
    return sorted(
        (name, version)
        for name, version in found
        if name in pinned and not {version, version.partition("+")[0]} & pinned[name]
    )


def describe(environments: tuple[Environment, ...]) -> str:
    parts = {
        f"{one.vllm_version} {one.digest[:12]}{' (simulated)' if one.simulated else ''}".strip() for one in environments
    }
    return " or ".join(sorted(parts))


def compare(there: Mapping[str, str], hosts: int, required: str, needs: Requirements) -> tuple[Finding, ...]:
    if not there:
        return (Finding(ID, Status.PASS, "", f"vLLM {needs.vllm_version} is on no host yet: the plan installs it"),)
    wrong = {host: text for host, text in there.items() if needs.vllm_version not in {"", text.partition(" ")[0]}}
    if wrong or len(set(there.values())) > 1:
        odd = ", ".join(wrong or odd_ones(there))
        remedy = f"on {odd}: sudo mv /var/lib/bringup/envs/DIGEST /var/tmp/  # the next deploy installs it again"
        return (Finding(ID, Status.FAIL, "", by_value(there), required, remedy),)
    return (Finding(ID, Status.PASS, "", f"{by_value(there)}; {hosts - len(there)} hosts get it by the plan"),)
