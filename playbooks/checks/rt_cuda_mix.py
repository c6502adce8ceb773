from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import Environment, HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.stored import planned_environment
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "rt.cuda_mix"
PRIORITY = Priority.P1
WHY = "of two builds of one CUDA library in an environment chance decides which is loaded"

_REQUIRED = "libraries of one CUDA major version"
_CUDA = re.compile(r"nvidia-(?:cublas|cuda-(?:runtime|nvrtc|cupti|nvcc)|nvjitlink)")  # versioned as CUDA is
_SUFFIXED = re.compile(r"(nvidia-[a-z0-9-]+)-cu(1[123])")


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    pinned = {name.lower() for name, _ in needs.build.packages}
    return tuple(
        of_host(facts[one.host], planned_environment(facts[one.host], needs.environment, needs.vllm_version), pinned)
        for one in needs.hosts
        if one.host in facts
    )


def of_host(facts: HostFacts, environment: Environment | None, pinned: set[str]) -> Finding:
    if environment is None or not environment.packages:
        told = "no environment of the plan is there yet" if is_known(facts.software) else str(facts.software)
        return skip(ID, facts.host, told)
    builds = by_library(dict(environment.packages), pinned)
    mixed = sorted({name for majors in builds.values() if len(majors) > 1 for name in majors.values()})
    mixed = mixed or across(dict(environment.packages), pinned)
    if not mixed:
        return Finding(ID, Status.PASS, facts.host, f"one CUDA for each of {len(builds)} libraries")
    observed = f"{', '.join(mixed)} in one environment"
    remedy = f"{ON_HOST}rm -r the environment below /var/lib/bringup/envs; the same deploy again makes it anew"
    return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, remedy)


def across(packages: Mapping[str, str], pinned: set[str]) -> list[str]:
    """Libraries of one CUDA beside those of another: by their suffix, those of CUDA's own also by their version."""
    majors: dict[str, list[str]] = {}
    for name, version in packages.items():
        suffixed = _SUFFIXED.fullmatch(name)
        if name not in pinned and (suffixed or _CUDA.fullmatch(name)):
            majors.setdefault(suffixed[2] if suffixed else version.partition(".")[0], []).append(name)
    return sorted(name for names in majors.values() for name in names[:2]) if len(majors) > 1 else []


def by_library(packages: Mapping[str, str], pinned: set[str]) -> dict[str, dict[str, str]]:
    """Which CUDA majors each library is there for: `nvidia-nccl` -> {12: nvidia-nccl-cu12, 13: nvidia-nccl-cu13}.

    Without a suffix a library is CUDA 13's, or of the major that its own version begins with. What the lock itself
    holds belongs together.
    """
    found: dict[str, dict[str, str]] = {}
    for name in packages.keys() - pinned:
        suffixed = _SUFFIXED.fullmatch(name)
        if suffixed:
            found.setdefault(suffixed[1], {})[suffixed[2]] = name
    for name, version in packages.items():
        if name in found and not _SUFFIXED.fullmatch(name):
            major = version.partition(".")[0]
            found[name].setdefault(major if major in {"11", "12"} else "13", name)
    for name in pinned & packages.keys():
        suffixed = _SUFFIXED.fullmatch(name)
        if suffixed and suffixed[1] in found:
            found[suffixed[1]].setdefault(suffixed[2], name)
    return found
