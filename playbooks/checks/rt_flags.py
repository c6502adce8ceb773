"""What the container of the ranks must be given, and is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.mounted import has, values
from playbooks.checks.plan_mnnvl_env import spans_trays
from playbooks.finding import Finding, Status
from playbooks.racks import RACKS
from playbooks.requirements import Requirements

ID = "rt.flags"
PRIORITY = Priority.P0
WHY = "a container without them starts, and quietly talks TCP, runs out of shared memory or finds no GPU"

_AMD = ("mi2", "mi3", "mi4")


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.container is None or needs.container.arguments is None:
        return (skip(ID, "", "the plan runs no container, or does not tell its arguments"),)
    lacks = tuple(missing(needs.container.arguments, needs))
    if not lacks:
        return (Finding(ID, Status.PASS, "", "the container is given all that its ranks need"),)
    observed = f"the container lacks {', '.join(lacks)}"
    remedy = f"add to the container's arguments: {' '.join(lacks)}"
    return (Finding(ID, Status.FAIL, "", observed, "what the ranks use is given to their container", remedy),)


def missing(arguments: Sequence[str], needs: Requirements) -> Iterator[str]:
    privileged = has(arguments, "--privileged")
    several = (needs.layout.nodes or len(needs.hosts)) > 1
    published = values(arguments, "-p", "--publish")
    if "host" not in values(arguments, "--network", "--net") and (several or needs.rdma or not published):
        yield "--network host"
    if "host" not in values(arguments, "--ipc") and not values(arguments, "--shm-size"):
        yield "--ipc host"
    if needs.rdma:
        yield from for_rdma(arguments, privileged=privileged)
    if (
        (needs.mnnvl or (needs.hardware in RACKS and spans_trays(needs)))
        and not privileged
        and not given(arguments, "/dev/nvidia-caps-imex-channels")
    ):
        yield "--device /dev/nvidia-caps-imex-channels/channel0"
    if any(one.numa_bind for one in needs.hosts) and not privileged and not capable(arguments, "SYS_NICE"):
        yield "--cap-add SYS_NICE"
    if (needs.hardware or "").startswith(_AMD):
        yield from for_amd(arguments, privileged=privileged)


def for_rdma(arguments: Sequence[str], *, privileged: bool) -> Iterator[str]:
    limits = values(arguments, "--ulimit")
    if not any(one.startswith("memlock=-1") for one in limits):
        yield "--ulimit memlock=-1"
    if not privileged and not given(arguments, "/dev/infiniband"):
        yield "--device /dev/infiniband"
    if not privileged and not capable(arguments, "IPC_LOCK"):
        yield "--cap-add IPC_LOCK"


def for_amd(arguments: Sequence[str], *, privileged: bool) -> Iterator[str]:
    for device in ("/dev/kfd", "/dev/dri"):
        if not privileged and not given(arguments, device):
            yield f"--device {device}"
    if not values(arguments, "--group-add"):
        yield "--group-add with the groups of /dev/kfd and /dev/dri, by number"


def given(arguments: Sequence[str], device: str) -> bool:
    return any(one.startswith(device) for one in values(arguments, "--device", "-v", "--volume"))


def capable(arguments: Sequence[str], capability: str) -> bool:
    return any(one.upper() in {capability, f"CAP_{capability}", "ALL"} for one in values(arguments, "--cap-add"))
