"""All ranks load the very same NCCL, and one that is known to work on these GPUs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts, Nccl
from playbooks.checks.base import Priority, by_value, odd_ones, skip
from playbooks.checks.devices import planned
from playbooks.checks.known_versions import NCCL_DENIED, NCCL_FLOOR
from playbooks.checks.version import release
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "nccl.identity"
PRIORITY = Priority.P1
WHY = "ranks with another NCCL, be it only another build of one version, hang in the first or a later collective"

OVERRIDE = "VLLM_NCCL_SO_PATH"
_REQUIRED = "the same libnccl.so.2 (version and sha256) on all hosts"
_REMEDY = f"install the environment again on the odd ones, and unset {OVERRIDE}"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    hosts = {one.host: facts[one.host] for one in needs.hosts if one.host in facts}
    loaded = {host: one for host, told in hosts.items() if (one := loaded_by(told, needs.environment))}
    known = {host: loaded.get(host) or pinned(needs) for host in hosts}
    found = [finding for host, one in known.items() if one for finding in unfit(hosts[host], one, needs)]
    said = {host: f"{one.version or '?'} ({(one.sha256 or 'no digest')[:12]})" for host, one in loaded.items()}
    if len(set(said.values())) > 1:
        remedy = f"{_REMEDY}: {', '.join(odd_ones(said))}"
        found.append(Finding(ID, Status.FAIL, "", by_value(said), _REQUIRED, remedy))
    overrides = {one.host: path for one in needs.hosts if (path := dict(one.env).get(OVERRIDE))}
    if overrides:
        observed = f"{OVERRIDE}: {by_value(overrides)}; that file was not looked at"
        found.append(
            Finding(ID, Status.WARN, "", observed, _REQUIRED, f"unset {OVERRIDE}: the environment has its own")
        )
    if found:
        return tuple(found)
    if not said:
        return (skip(ID, "", "the environment of the ranks is not on a host yet, or has no NCCL"),)
    return (Finding(ID, Status.PASS, "", by_value(said)),)


def loaded_by(facts: HostFacts, environment: str | None) -> Nccl | None:
    """The library in the environment that the ranks run in; the only one there is where the plan names none."""
    found = facts.nccl if is_known(facts.nccl) else ()
    own = [one for one in found if environment is None or one.environment in {environment, ""}]
    return own[0] if len(own) == 1 else None


def pinned(needs: Requirements) -> Nccl | None:
    """What the lock of the build will install."""
    versions = [version for name, version in needs.build.packages if name.startswith("nvidia-nccl-cu")]
    return Nccl("", "", versions[0], "", None) if versions else None


def unfit(facts: HostFacts, one: Nccl, needs: Requirements) -> list[Finding]:
    """What is known against this version on this host's GPUs."""
    version = release(one.version)
    plan = needs.of(facts.host)
    names = {gpu.name for gpu in planned(facts, plan)} or {(plan.gpu_profile or needs.hardware or "").upper()}
    if version is None:
        return []
    remedy = "pin another NCCL in the environment's pyproject.toml and make its lock again"
    low = [floor for word, floor in NCCL_FLOOR if is_of(word, names) and version < floor]
    denied = [word for word, bad in NCCL_DENIED if is_of(word, names) and version[: len(bad)] == bad]
    found = []
    if low:
        required = f"NCCL {'.'.join(map(str, low[0]))} or later on {', '.join(sorted(names))}"
        found.append(Finding(ID, Status.FAIL, facts.host, f"NCCL {one.version}", required, remedy))
    if denied:
        observed = f"NCCL {one.version} is known to hang on {denied[0]}"
        found.append(Finding(ID, Status.FAIL, facts.host, observed, "another NCCL on these GPUs", remedy))
    return found


def is_of(word: str, names: set[str]) -> bool:
    return any(re.search(rf"(?<![A-Z]){word}(?!\d)", name) for name in names)
