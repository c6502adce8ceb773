from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "ctl.same_machine_twice"
PRIORITY = Priority.P1
WHY = "two ranks that were meant for two machines fight for the GPUs and ports of one"

_REQUIRED = "every name of the selection is another machine"
_LOOK = f"{ON_HOST}cat /proc/sys/kernel/random/boot_id; hostname"
MACHINE_ID = "machine id (digest)"
_CLONED = f"{ON_HOST}sudo rm /etc/machine-id && sudo systemd-machine-id-setup && sudo reboot  # on one of the two"
_REMEDY = "remove one of the two names from --hosts, or correct its address in inventory/hosts.yaml"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    hosts = [one.host for one in needs.hosts]
    if len(hosts) < 2:
        return (skip(ID, "", "one host: nothing to compare"),)
    unread = [host for host in hosts if host not in facts or not is_named(facts[host])]
    findings = [Finding(ID, Status.UNKNOWN, h, "boot id unknown", _REQUIRED, _LOOK) for h in unread]
    findings += shared([facts[host] for host in hosts if host in facts])
    return tuple(findings) or (Finding(ID, Status.PASS, "", f"{len(hosts)} machines"),)


def is_named(facts: HostFacts) -> bool:
    """GPUs alone do not tell: one of the two names may have been given none."""
    return (is_known(facts.system) and bool(facts.system.boot_id)) or is_known(facts.machine_digest)


def shared(facts: list[HostFacts]) -> Iterator[Finding]:
    by_mark: dict[str, list[HostFacts]] = defaultdict(list)
    for one in facts:
        for mark in marks(one):
            by_mark[mark].append(one)
    told = set()
    for mark, same in by_mark.items():
        for first, second in combinations(same, 2):
            if (first.host, second.host) not in told:
                told.add((first.host, second.host))
                yield pair(first, second, mark)


def marks(facts: HostFacts) -> Iterator[str]:
    """GPUs first: they are proof, whatever a container hides."""
    if is_known(facts.gpus):
        yield from (f"GPU {gpu.uuid}" for gpu in facts.gpus.devices if gpu.uuid)
    if is_known(facts.system) and facts.system.boot_id:
        yield f"boot id {facts.system.boot_id}"
    if is_known(facts.machine_digest):
        yield f"{MACHINE_ID} {facts.machine_digest}"


def pair(first: HostFacts, second: HostFacts, mark: str) -> Finding:
    observed = f"{first.host} and {second.host} have the same {mark}"
    if mark.startswith(MACHINE_ID):
        observed += ": made from one image, and DHCP and journals take them for one"
        return Finding(ID, Status.WARN, second.host, observed, _REQUIRED, _CLONED)
    if mark.startswith("boot id") and both_contained(first, second):
        observed += ": two containers on one machine"
        return Finding(ID, Status.WARN, second.host, observed, _REQUIRED, _REMEDY)
    return Finding(ID, Status.FAIL, second.host, observed, _REQUIRED, _REMEDY)


def both_contained(first: HostFacts, second: HostFacts) -> bool:
    """Containers share the kernel's boot id; with host names of their own they are still two hosts."""
    if not (is_known(first.system) and is_known(second.system)):
        return False
    contained = all(is_known(one.software) and one.software.container for one in (first, second))
    return contained and first.system.hostname != second.system.hostname
