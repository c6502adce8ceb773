"""With what the caches of a host were made: kernels of another build are refused, or worse, are not."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.devices import plans_no_gpu
from playbooks.checks.stored import planned_caches
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "sto.cache_stamp"
PRIORITY = Priority.P1
WHY = "kernels that another build compiled are loaded by name: at best the start is slow, at worst it crashes"

_PACKAGES = {"vllm": "vllm", "torch": "torch", "flashinfer": "flashinfer-python", "triton": "triton"}
_REQUIRED = "caches with a stamp of this very build, or none"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    return tuple(of_host(facts[one.host], one, needs) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, host: HostRequirements, needs: Requirements) -> Finding:
    if plans_no_gpu(host) or not is_known(facts.caches):
        return skip(ID, facts.host, "the plan uses no GPU here, or nobody looked into the caches")
    caches = planned_caches(facts.caches, host)
    if caches.empty:
        return Finding(ID, Status.PASS, facts.host, "no caches of this build yet")
    remedy = f"{ON_HOST}mv /var/lib/bringup/caches aside, and keep it for a way back"
    if caches.stamp is None:
        return Finding(
            ID, Status.WARN, facts.host, "caches without a stamp: nobody knows what made them", _REQUIRED, remedy
        )
    differs = differences(dict(caches.stamp), wanted(needs))
    if not differs:
        return Finding(ID, Status.PASS, facts.host, f"the caches are of this build ({dict(caches.stamp)})")
    return Finding(ID, Status.WARN, facts.host, f"caches of {', '.join(differs)}", _REQUIRED, remedy)


def wanted(needs: Requirements) -> dict[str, str]:
    packages = {"vllm": needs.vllm_version} if needs.vllm_version else {}
    packages |= dict(needs.build.packages)
    return {name: packages[package] for name, package in _PACKAGES.items() if package in packages}


def differences(stamp: Mapping[str, str], build: Mapping[str, str]) -> list[str]:
    return [
        f"{name} {stamp[name]}, not {version}"
        for name, version in build.items()
        if name in stamp and stamp[name].partition("+")[0] != version.partition("+")[0]
    ]
