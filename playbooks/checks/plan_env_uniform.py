from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, by_value, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.env_uniform"
PRIORITY = Priority.P1
WHY = "ranks that run with different settings take different kernels and paths, and wait for each other"

OWN = re.compile(r".*(?:_IP|_IFNAME|_HCA|_GID_INDEX|_RANK|_DEVICES?|_ADDR|_HOST|_NODE)$|BRINGUP_.*|HOSTNAME")
"""Variables that are each host's own: its address, interface, adapters, ranks, devices, and bringup's mark."""


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    rendered = {one.host: dict(one.env) for one in needs.hosts if one.env}
    if len(rendered) < 2:
        return (skip(ID, "", "the plan renders the environment of fewer than two hosts"),)
    names = sorted({name for env in rendered.values() for name in env if not OWN.fullmatch(name)})
    differing = {name: values for name in names if len(set((values := of_all(rendered, name)).values())) > 1}
    required = "one environment on all hosts, but for addresses, interfaces, devices and ranks"
    if differing:
        observed = "; ".join(f"{name}: {by_value(values)}" for name, values in differing.items())
        return (Finding(ID, Status.FAIL, "", observed, required, "set the variable for all hosts or for none"),)
    return (Finding(ID, Status.PASS, "", f"{len(names)} variables are the same on {len(rendered)} hosts"),)


def of_all(rendered: Mapping[str, Mapping[str, str]], name: str) -> dict[str, str]:
    return {host: env.get(name, "(not set)") for host, env in rendered.items()}
