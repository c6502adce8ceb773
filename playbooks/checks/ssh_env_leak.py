"""The environment that ranks would inherit, where they are not started with a clean one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts
from playbooks.checks.ambient import environment_of
from playbooks.checks.base import ON_HOST, Priority, ranges, skip
from playbooks.checks.launch_context import place_of
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "ssh.env_leak"
PRIORITY = Priority.P1
WHY = "a variable that nobody planned changes ports, devices or libraries of the ranks on one host alone"

VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
LIBRARIES = re.compile(r"cuda|compat|/rocm")
_REQUIRED = "none of these variables where ranks start, or a clean environment (`env -i`)"
_REMEDY = f"{ON_HOST}systemctl show-environment; env; grep -rn NAME /etc/environment /etc/profile.d ~/.profile"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    nodes = needs.layout.nodes or len(needs.hosts)
    return tuple(_of_host(facts[one.host], one, nodes) for one in needs.hosts if one.host in facts)


def _of_host(facts: HostFacts, needs: HostRequirements, nodes: int) -> Finding:
    ambient = environment_of(facts)
    if ambient is None or isinstance(facts.context, Unknown):
        return skip(ID, facts.host, "the environment where ranks start was not looked at")
    if not ambient:
        return Finding(ID, Status.PASS, facts.host, f"nothing that ranks listen to is set in {place_of(facts)}")
    listed = ", ".join(f"{name}={value}" for name, value in ambient.items())
    if facts.context.is_cleared:
        observed = f"ranks start with `env -i`: none of {listed} in {place_of(facts)} reaches them"
        return Finding(ID, Status.PASS, facts.host, observed)
    harm = harmful(ambient, facts, needs, nodes)
    if harm:
        return Finding(ID, Status.FAIL, facts.host, "; ".join(harm), _REQUIRED, _REMEDY)
    return Finding(ID, Status.WARN, facts.host, f"{listed} in {place_of(facts)}", _REQUIRED, _REMEDY)


def harmful(ambient: Mapping[str, str], facts: HostFacts, needs: HostRequirements, nodes: int) -> list[str]:
    """What surely breaks the launch, each with why."""
    found = []
    planned = dict(needs.env)
    if "VLLM_PORT" in ambient:
        found.append(f"VLLM_PORT={ambient['VLLM_PORT']}: all ranks of the host count their ports from it")
    if ambient.get("NCCL_SOCKET_IFNAME", "").lstrip("=^") == "lo" and nodes > 1 and "NCCL_SOCKET_IFNAME" not in planned:
        found.append(f"NCCL_SOCKET_IFNAME=lo with {nodes} hosts")
    for name in VISIBLE:
        hidden = hidden_by(ambient[name], facts, needs) if name in ambient and name not in planned else set()
        if hidden:
            found.append(f"{name}={ambient[name]} hides the planned GPU {ranges(hidden)}")
    paths = [path for path in ambient.get("LD_LIBRARY_PATH", "").split(":") if LIBRARIES.search(path)]
    if paths and "LD_LIBRARY_PATH" not in planned:
        found.append(f"LD_LIBRARY_PATH has {', '.join(paths)}: other libraries than the engine was built with")
    return found


def hidden_by(value: str, facts: HostFacts, needs: HostRequirements) -> set[int]:
    """Planned GPUs that a list of visible devices leaves out: indices or UUIDs, the first unknown one ends it."""
    uuids = {gpu.uuid: gpu.index for gpu in facts.gpus.devices} if is_known(facts.gpus) else {}
    seen: set[int] = set()
    for word in (part.strip() for part in value.split(",")):
        match = [index for uuid, index in uuids.items() if word and uuid.startswith(word)]
        if not (word.isdecimal() or match):
            break
        seen.add(int(word) if word.isdecimal() else match[0])
    return {*needs.gpus} - seen
