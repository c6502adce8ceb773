"""The list of hosts as it was understood, against the plan: a list that was taken apart wrongly names no machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "ctl.hosts_parse"
PRIORITY = Priority.P0
WHY = "a list that the command line took apart wrongly starts ranks on other machines, or fewer"

_REQUIRED = "each host once, by its name, as many as the plan has"
_REMEDY = "write the hosts as one word: --hosts tray1,tray2"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    hosts = [one.host for one in needs.hosts]
    wrong = "; ".join(faults(hosts, needs))
    if wrong:
        return (Finding(ID, Status.FAIL, "", f"hosts {hosts}: {wrong}", _REQUIRED, _REMEDY),)
    return (Finding(ID, Status.PASS, "", f"{len(hosts)} hosts: {', '.join(hosts)}"),)


def faults(hosts: list[str], needs: Requirements) -> Iterator[str]:
    if not hosts or ("" in hosts and len(hosts) > 1):
        yield "an empty item"
    if letters := [host for host in hosts if len(host) == 1]:
        yield f"one letter is no host: {', '.join(letters)}"
    if flags := [host for host in hosts if host.startswith("-")]:
        yield f"an option, not a host: {', '.join(flags)}"
    if twice := [host for host, number in Counter(hosts).items() if number > 1]:
        yield f"named twice: {', '.join(twice)}"
    if strangers := sorted({*needs.ranks} - {*hosts}):
        yield f"the plan has ranks on {', '.join(strangers)}"
    if needs.layout.nodes and needs.layout.nodes != len(hosts):
        yield f"{len(hosts)} hosts, the plan is for {needs.layout.nodes}"
