from __future__ import annotations

from collections.abc import Iterator, Mapping

from inventory.facts.host import HostFacts
from playbooks.argv import number, options
from playbooks.checks.base import Priority, skip
from playbooks.checks.version import before
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "plan.lb_flags"
PRIORITY = Priority.P0
WHY = "vLLM infers the way of load balancing from the options: hosts that infer different ones wait for each other"

Told = dict[str, str | None]
HYBRID, EXTERNAL = "--data-parallel-hybrid-lb", "--data-parallel-external-lb"
MULTI_PORT = "--data-parallel-multi-port-external-lb"
START, RANK = "--data-parallel-start-rank", "--data-parallel-rank"
SIZE, LOCAL = "--data-parallel-size", "--data-parallel-size-local"
IMPLIES_HYBRID = "0.28.0"
"""From this release on a start rank without --headless means hybrid load balancing."""


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    told = {one.host: options(one.argv) for one in needs.hosts if one.argv}
    size = max((number(each, SIZE) or 1 for each in told.values()), default=1)
    if size == 1 or (len(told) == 1 and not needs.layout.load_balancing):
        return (skip(ID, "", "the plan has no data-parallel ranks on several hosts"),)
    mode = needs.layout.load_balancing or inferred(told)
    required = f"options of {mode} load balancing, as vLLM {needs.vllm_version} reads them"
    wrong = [(host, fault) for host, fault in faults(mode, told, needs)]
    if wrong:
        remedy = "invoke plan --model MODEL --hosts HOSTS --output shell  # the options that bringup renders"
        return tuple(Finding(ID, Status.FAIL, host, fault, required, remedy) for host, fault in wrong)
    return (Finding(ID, Status.PASS, "", f"{len(told)} hosts with the options of {mode} load balancing"),)


def inferred(told: Mapping[str, Told]) -> str:
    """What the options of all hosts together ask for."""
    if any({RANK, EXTERNAL, MULTI_PORT} & each.keys() for each in told.values()):
        return "external"
    return "hybrid" if any(HYBRID in each for each in told.values()) else "internal"


def faults(mode: str, told: Mapping[str, Told], needs: Requirements) -> Iterator[tuple[str, str]]:
    if len({number(each, SIZE) for each in told.values()}) > 1:
        yield "", f"hosts have different {SIZE}"
    for one in needs.hosts:
        if one.argv:
            head = one.host == needs.head
            of_host = {"internal": internal, "hybrid": hybrid, "external": external}[mode]
            yield from ((one.host, fault) for fault in of_host(told[one.host], one, head=head, needs=needs))


def internal(told: Told, _one: HostRequirements, *, head: bool, needs: Requirements) -> Iterator[str]:
    headless = "--headless" in told
    yield from (f"{flag} is of another way of load balancing" for flag in (HYBRID, EXTERNAL, RANK) if flag in told)
    if head:
        if headless:
            yield "the head is --headless: nothing serves"
        if START in told and not headless and not before(needs.vllm_version, IMPLIES_HYBRID):
            yield f"the head has {START}: without --headless that means hybrid load balancing"
        return
    if not headless:
        yield "a follower lacks --headless: the head refuses it"
    if number(told, START) is None:
        yield f"a follower lacks {START}: it takes rank 0"
    if "--api-server-count" in told and (number(told, "--api-server-count") or 0) > 0:
        yield "--headless and --api-server-count exclude each other"


def hybrid(told: Told, _one: HostRequirements, *, head: bool, needs: Requirements) -> Iterator[str]:
    del head, needs
    if "--headless" in told:
        yield "a host is --headless, in hybrid load balancing every host serves"
    yield from (f"{flag} is missing" for flag in (HYBRID, START) if flag not in told)
    local, size = number(told, LOCAL), number(told, SIZE) or 1
    if local is None or local < 2:
        yield f"{LOCAL} is {local or 'missing'}: with fewer than 2 vLLM changes to external load balancing"
    elif local == size:
        yield f"{LOCAL} is {local}, all ranks: vLLM switches hybrid load balancing off"


def external(told: Told, _one: HostRequirements, *, head: bool, needs: Requirements) -> Iterator[str]:
    del head
    if needs.layout.moe is False:
        yield "the model is dense: vLLM refuses external load balancing for it"
    supervised = MULTI_PORT in told
    if number(told, START if supervised else RANK) is None:
        yield f"{START if supervised else RANK} is missing"
    if supervised and (number(told, LOCAL) or 1) < 2:
        yield f"{MULTI_PORT} is for several ranks of a host, {LOCAL} is {told.get(LOCAL) or 'missing'}"
    if not supervised and (number(told, LOCAL) or 1) > 1:
        yield f"{LOCAL} is {told[LOCAL]}: one process is one rank"
    if "--headless" in told:
        yield "a host is --headless, in external load balancing every rank serves"
    if HYBRID in told:
        yield f"{HYBRID} excludes external load balancing"
