from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.stored import planned_caches
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "sto.cache_same_path"
PRIORITY = Priority.P1
WHY = "compiled code has the paths of where it was made in it: elsewhere it is thrown away and made again"

_REQUIRED = "caches at the paths, and of the user, where they were made"
_LAST_STRICT = (0, 24)  # vLLM up to this one fails instead of compiling again


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    return tuple(of_host(facts[one.host], one, needs.vllm_version) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, needs: HostRequirements, vllm: str) -> Finding:
    caches = planned_caches(facts.caches, needs) if is_known(facts.caches) else None
    if caches is None or caches.stamp is None or not needs.env:
        return skip(ID, facts.host, "nobody wrote down where the caches were made")
    made, env = dict(caches.stamp), dict(needs.env)
    planned = {"path": env.get("VLLM_CACHE_ROOT"), "home": env.get("HOME")}
    if is_known(facts.system):
        planned["user"] = facts.system.user
    differ = [
        f"{name} was {made[name]}, is {now}" for name, now in planned.items() if now and made.get(name, now) != now
    ]
    if not differ:
        return Finding(ID, Status.PASS, facts.host, "the caches were made at these paths")
    status = Status.FAIL if is_strict(vllm) else Status.WARN
    return Finding(ID, status, facts.host, "; ".join(differ), _REQUIRED, "ship the caches to the same absolute path")


def is_strict(vllm: str) -> bool:
    told = re.match(r"(\d+)\.(\d+)", vllm)
    return told is not None and (int(told[1]), int(told[2])) <= _LAST_STRICT
