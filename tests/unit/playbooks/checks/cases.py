"""How the tables of the check tests are written: a name, facts, requirements, the status and what must be said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import HostFacts
from playbooks.checks.base import GangCheck, HostCheck
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements
from tests.unit.playbooks.checks.gang import gang_needs, tray, tray_needs, trays

HUNG = Unknown(Why.TIMED_OUT, "no answer in 20 s")
NO_TOOL = Unknown(Why.MISSING_TOOL, "ip")


@dataclass(frozen=True)
class Case:
    """One host's answer. `says` must all be in the finding's text."""

    name: str
    status: Status
    facts: HostFacts = field(default_factory=tray)
    needs: HostRequirements = field(default_factory=tray_needs)
    says: tuple[str, ...] = ()


@dataclass(frozen=True)
class GangCase:
    """The gang's answers. `worst` is the gravest status; `blamed` the hosts of findings that have it."""

    name: str
    worst: Status
    facts: Mapping[str, HostFacts] = field(default_factory=trays)
    needs: Requirements = field(default_factory=gang_needs)
    blamed: tuple[str, ...] | None = None
    says: tuple[str, ...] = ()


def table(*cases: Case) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def gang_table(*cases: GangCase) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


GRAVITY = (Status.FAIL, Status.UNKNOWN, Status.WARN, Status.PASS, Status.SKIP)


def text(finding: Finding) -> str:
    return f"{finding.observed}\n{finding.required}\n{finding.remedy}"


def assert_host(check: HostCheck, case: Case) -> None:
    finding = check.check(case.facts, case.needs)
    assert finding.status is case.status, finding
    assert (finding.check, finding.host) == (check.ID, case.facts.host)
    for words in case.says:
        assert words in text(finding), finding


def assert_gang(check: GangCheck, case: GangCase) -> None:
    findings = check.check(case.facts, case.needs)
    assert findings, "a check that says nothing"
    worst = min((finding.status for finding in findings), key=GRAVITY.index)
    assert worst is case.worst, findings
    gravest = [finding for finding in findings if finding.status is worst]
    assert all(finding.check == check.ID for finding in findings)
    if case.blamed is not None:
        assert tuple(finding.host for finding in gravest) == case.blamed
    for words in case.says:
        assert any(words in text(finding) for finding in gravest), gravest
