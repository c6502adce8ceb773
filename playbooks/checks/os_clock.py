"""Clocks against the control machine's. When all hosts agree and differ from it, its own is the wrong one."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import NOT_ASKED, Maybe, Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, of_each, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "os.clock"
PRIORITY = Priority.P1
WHY = "log lines of different hosts cannot be put in order, and TLS refuses certificates"

WARN_S = 1.0
FAIL_S = 60.0
_REQUIRED = f"at most {WARN_S:.0f} s between the clocks ({FAIL_S:.0f} s is refused)"
_LOOK = f"{ON_HOST}date +%s.%N; timedatectl"
_REMEDY = f"{ON_HOST}sudo chronyc makestep || sudo systemctl restart systemd-timesyncd"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    offsets, unknown = of_each(facts, needs, _offset)
    findings = [unread(ID, host, fact, _REQUIRED, _LOOK) for host, fact in unknown.items()]
    spread = max(offsets.values(), default=0.0) - min(offsets.values(), default=0.0)
    if len(offsets) > 1 and spread <= WARN_S < min(map(abs, offsets.values())):
        return (*findings, _ours(offsets))
    findings += [of_host(host, offset, facts[host].clock_synchronised) for host, offset in offsets.items()]
    if spread > FAIL_S and not any(finding.status is Status.FAIL for finding in findings):
        first, last = min(offsets, key=offsets.__getitem__), max(offsets, key=offsets.__getitem__)
        observed = f"{spread:.1f} s between {first} and {last}"
        findings.append(Finding(ID, Status.FAIL, "", observed, _REQUIRED, _REMEDY))
    return tuple(findings)


def _offset(facts: HostFacts) -> Maybe[float]:
    return facts.system if isinstance(facts.system, Unknown) else facts.system.clock_offset_s


def of_host(host: str, offset: float, synchronised: Maybe[bool] = NOT_ASKED) -> Finding:
    observed = f"{abs(offset):.1f} s {'ahead of' if offset > 0 else 'behind'} the control machine"
    if abs(offset) > WARN_S:
        status = Status.FAIL if abs(offset) > FAIL_S else Status.WARN
        return Finding(ID, status, host, observed, _REQUIRED, by_playbook(host, "tuning", _REMEDY))
    if synchronised is False:
        remedy = by_playbook(host, "tuning", _REMEDY)
        return Finding(ID, Status.WARN, host, f"{observed}, and not synchronised", _REQUIRED, remedy)
    return Finding(ID, Status.PASS, host, observed)


def _ours(offsets: Mapping[str, float]) -> Finding:
    mean = sum(offsets.values()) / len(offsets)
    observed = f"the hosts agree with each other; the control machine is {-mean:+.1f} s off"
    return Finding(ID, Status.WARN, "", observed, _REQUIRED, "timedatectl  # on the control machine")
