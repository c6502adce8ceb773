"""A container gets what RDMA needs: the devices, the right to lock memory, no limit on it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts, LaunchContext
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "rdma.container"
PRIORITY = Priority.P0
WHY = "in a container without RDMA devices NCCL falls back to TCP without a word"

_REQUIRED = "in the container: /dev/infiniband, CAP_IPC_LOCK and memlock unlimited"
FLAGS = {
    "/dev/infiniband": "--device /dev/infiniband",
    "CAP_IPC_LOCK": "--cap-add IPC_LOCK",
    "memlock unlimited": "--ulimit memlock=-1",
}


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if not needs.rdma:
        return (skip(ID, "", "the plan does not tell that it uses RDMA"),)
    if needs.container is None:
        return (skip(ID, "", "the ranks run in no container"),)
    return tuple(of_host(facts[one.host], needs.container.arguments) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, arguments: Sequence[str] | None) -> Finding:
    seen = in_container(facts)
    if seen is None and arguments is None:
        return skip(ID, facts.host, "neither the container nor its arguments are told")
    missing = lacking(seen) if seen else []
    if arguments is not None:
        missing = sorted({*missing, *(lacks(arguments) if seen is None else unless_seen(lacks(arguments), seen))})
    if missing:
        flags = " ".join(FLAGS[one] for one in missing)
        observed = f"the container lacks {', '.join(missing)}"
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, f"add to the container's arguments: {flags}")
    return Finding(ID, Status.PASS, facts.host, "the devices, IPC_LOCK and memlock are there")


def in_container(facts: HostFacts) -> LaunchContext | None:
    return facts.context if is_known(facts.context) and facts.context.where == "container" else None


def lacking(seen: LaunchContext) -> list[str]:
    """What is known not to be there, as seen inside."""
    missing = []
    if is_known(seen.devices) and not any("/dev/infiniband/" in one.path and one.opens for one in seen.devices):
        missing.append("/dev/infiniband")
    if is_known(seen.ipc_lock) and not seen.ipc_lock:
        missing.append("CAP_IPC_LOCK")
    if is_known(seen.locked_memory) and seen.locked_memory.soft is not None:
        missing.append("memlock unlimited")
    return missing


def unless_seen(missing: Sequence[str], seen: LaunchContext) -> list[str]:
    """Of what the arguments lack, that which was not looked at inside."""
    looked = {
        "/dev/infiniband": is_known(seen.devices),
        "CAP_IPC_LOCK": is_known(seen.ipc_lock),
        "memlock unlimited": is_known(seen.locked_memory),
    }
    return [one for one in missing if not looked[one]]


def lacks(arguments: Sequence[str]) -> list[str]:
    """What `docker run` is not told; `--privileged` gives the devices and the right, not the limit."""
    text = " ".join(arguments)
    privileged = re.search(r"--privileged(?:=true)?(?:\s|$)", text) is not None
    given = {
        "/dev/infiniband": privileged or re.search(r"(?:--device|-v|--volume)[= ]/dev/infiniband", text) is not None,
        "CAP_IPC_LOCK": privileged or re.search(r"--cap-add[= ](?:CAP_)?(?:IPC_LOCK|ALL)\b", text) is not None,
        "memlock unlimited": re.search(r"--ulimit[= ]memlock=(?:-1|unlimited)\b", text) is not None,
    }
    return [one for one, there in given.items() if not there]
