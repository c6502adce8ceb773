"""One expectation of a case against what the product says."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inventory.errors import BadInput, Several
from inventory.schema import Host, Inventory
from inventory.sshconfig import effective
from playbooks.check import run_checks, unreachable_findings
from playbooks.finding import GRAVEST_FIRST, Finding
from tests.cases import diagnosed, tried
from tests.cases.case import Case
from tests.cases.readers.hosts import unframed

Expected = Mapping[str, Any]
DIAGNOSIS = ("diagnosis", "secondary", "status", "state", "effective", "exit_code_not")
"""Kinds of expectation that belong to diagnosis and status of a running deployment."""


@dataclass(frozen=True, slots=True)
class Skipped:
    why: str


def judge(case: Case, expected: Expected) -> list[str] | Skipped:
    """What of `expected` is not met; none when all is well."""
    if "check" in expected:
        return list(_refused(case, expected) if "input" in expected else _check(case, expected))
    if "parse" in expected:
        return list(_parse(case, expected))
    if "resolve" in expected:
        return list(_resolve(case, expected))
    if any(kind in expected for kind in DIAGNOSIS):
        return list(diagnosed.judge(case, expected))
    return [f"nobody knows an expectation of {sorted(expected)}"]


def _check(case: Case, expected: Expected) -> Iterator[str]:
    plan = expected.get("file", "plan.yaml")
    wanted, host = expected["check"], expected.get("host", "")
    errors = case.errors()
    facts = {name: one for name, one in case.facts(plan).items() if name not in errors}
    needs = case.needs(plan)
    findings = (*run_checks(facts, needs), *unreachable_findings(errors), *tried.findings(wanted, case.hosts, needs))
    found = [one for one in findings if one.check == wanted]
    about = [one for one in found if one.host in {host, ""}] if host else found
    if not about:
        yield f"{wanted} says nothing{f' of {host}' if host else ''}"
        return
    said = _gravest([one for one in about if one.host == host] or about)
    if said.status != expected["severity"]:
        yield f"{wanted} {host}: expected {expected['severity']}, is {said.status}: {said.observed}"
    text = f"{said.host} {said.observed} {said.required} {said.remedy}"
    for word in expected.get("must_mention", ()):
        if str(word) not in text:
            yield f"{wanted} {host}: does not mention {word!r}: {text}"


def _gravest(findings: Sequence[Finding]) -> Finding:
    return min(findings, key=lambda one: GRAVEST_FIRST.index(one.status))


def _refused(case: Case, expected: Expected) -> Iterator[str]:
    """`ctl.hosts_parse`: a selection that must be refused before anything is contacted."""
    assert expected["check"] == "ctl.hosts_parse", case.name
    try:
        hosts = Inventory().resolve(expected["input"])
    except (BadInput, Several):
        return
    yield f"{expected['input']!r} is taken for {[one.name for one in hosts]}"


def _parse(case: Case, expected: Expected) -> Iterator[str]:
    if "inputs.txt" in case.files:
        for text, names in expected["parse"].items():
            found = [host.name for host in Inventory().resolve(text)]
            if found != list(names):
                yield f"{text!r} is {found}, not {names}"
        return
    yield from _noisy(case, expected["parse"])


def _noisy(case: Case, wanted: Mapping[str, str]) -> Iterator[str]:
    """Values that lie between the markers of a noisy answer."""
    for own in case.hosts.values():
        body, _ = unframed(own["raw_stdout.txt"], case.files["marker.txt"].strip())
        told = dict(line.split("=", 1) for line in body.splitlines() if "=" in line)
        for name, value in wanted.items():
            if told.get(name) != value:
                yield f"{name} is {told.get(name)!r}, not {value!r}"


def _resolve(case: Case, expected: Expected) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config"
        config.write_text(case.files["ssh_config"], encoding="utf-8")
        for name, wanted in expected["resolve"].items():
            options = effective(Host(name=name, ssh_config=str(config)))
            jump = options.proxy_jump[0].host if options.proxy_jump else None
            found = {"hostname": options.hostname, "user": options.user, "jump": jump}
            if found != {**found, **wanted}:
                yield f"{name}: {found}, not {wanted}"
