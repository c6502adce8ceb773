from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.argv import options
from playbooks.checks import rdma_gdr
from playbooks.checks.base import Priority
from playbooks.checks.devices import is_amd
from playbooks.checks.interconnect import all2all
from playbooks.checks.known_issues import ISSUES, Issue
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "plan.known_issues"
PRIORITY = Priority.P1
WHY = "somebody has already lost a night to it: the release, the condition and the way out are known"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    met = [issue for issue in ISSUES if issue.concerns(needs) and happens(issue, facts, needs)]
    open_ones = [issue for issue in met if not avoided(issue, needs)]
    if not open_ones:
        seen = f"{len(met)} known, all avoided by the command" if met else "none of the known issues concerns this plan"
        return (Finding(ID, Status.PASS, "", seen),)
    return tuple(
        Finding(
            ID,
            Status.WARN,
            "",
            f"vLLM {needs.vllm_version or '?'}{f' with driver {issue.driver}' if issue.driver else ''}: "
            f"{issue.what} ({issue.source})",
            f"{issue.remedy[0]} in the command" if issue.remedy else "another driver or backend",
            f"--set {issue.remedy[0].removeprefix('--')}=true" if issue.remedy else "choose another all-to-all backend",
        )
        for issue in open_ones
    )


def happens(issue: Issue, facts: Mapping[str, HostFacts], needs: Requirements) -> bool:
    """Whether the hosts and the command are of the kind too; what nobody knows does not count."""
    chosen = [facts[one.host] for one in needs.hosts if one.host in facts]
    if issue.driver and not any(driver_of(one).startswith(f"{issue.driver}.") for one in chosen):
        return False
    if issue.option:
        name, _, value = issue.option.partition(" ")
        if not any(said(one, name) == value for one in needs.hosts):
            return False
    return not issue.without_gpudirect or (not needs.mnnvl and any(map(lacks_gpudirect, chosen)))


def avoided(issue: Issue, needs: Requirements) -> bool:
    """Whether every rendered command has one of the options that avoid it."""
    rendered = [options(one.argv) for one in needs.hosts if one.argv]
    return bool(rendered) and all(any(flag in told for flag in issue.remedy) for told in rendered)


def said(one: HostRequirements, name: str) -> str | None:
    """The value of an option; a backend of expert parallelism may be named by the environment too."""
    return all2all(one) if name == "--all2all-backend" else options(one.argv).get(name)


def driver_of(facts: HostFacts) -> str:
    told = facts.gpus.driver if is_known(facts.gpus) else None
    return told or (facts.driver.module if is_known(facts.driver) else None) or ""


def lacks_gpudirect(facts: HostFacts) -> bool:
    """NICs cannot reach the GPUs' memory: the loaded modules and the kernel say so, as `rdma.gdr` reads them."""
    if is_amd(facts) or not is_known(facts.driver):
        return False
    return rdma_gdr.is_told(facts.driver) and rdma_gdr.way_of(facts, facts.driver) is None
