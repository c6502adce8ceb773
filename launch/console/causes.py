"""Findings as an operator reads them: one for each cause, with the hosts that it concerns. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inventory.quoting import quote
from inventory.ranges import fold
from playbooks.check import KNOWN
from playbooks.finding import GRAVEST_FIRST, Finding, Status

SHOWN = 3
"""Observations of one cause that are shown; the others are counted."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One check's answer for one reason. `observed`: what was seen, and on which hosts (the gang's: none)."""

    check: str
    status: Status
    observed: dict[str, tuple[str, ...]]
    required: str
    remedy: str

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(host for hosts in self.observed.values() for host in hosts)

    @property
    def priority(self) -> str:
        return str(KNOWN[self.check].PRIORITY) if self.check in KNOWN else ""

    @property
    def why(self) -> str:
        return KNOWN[self.check].WHY if self.check in KNOWN else ""

    @property
    def runbook(self) -> str:
        return f"docs/runbooks/{self.check}.md"

    def seen(self) -> str:
        """What was observed, and where if it was not the same everywhere."""
        if len(self.observed) == 1:
            return next(iter(self.observed))
        texts = [f"{text} ({fold(hosts)})" if hosts else text for text, hosts in self.observed.items()]
        left = len(texts) - SHOWN
        return "; ".join(texts[:SHOWN]) + (f"; and {left} more alike" if left > 0 else "")

    def lines(self) -> tuple[str, ...]:
        """The cause whole: which check, what, why, what to type and where to read on."""
        where = fold(self.hosts) or "the plan"
        return (
            f"{self.status.upper()} {self.check} ({self.priority}) on {where}",
            f"  observed: {self.seen()}",
            f"  required: {self.required}",
            f"  why: {self.why}",
            f"  next: {self.remedy}",
            f"  more: {self.runbook}",
        )

    def brief(self) -> tuple[str, ...]:
        """The cause in two lines, for what does not stop anything."""
        where = fold(self.hosts) or "the plan"
        return (f"{self.status.upper()} {self.check} on {where}: {self.seen()}", f"  next: {self.remedy}")


def told_of_all(pairs: Iterable[tuple[str, str]], hosts: Sequence[str]) -> tuple[str, ...]:
    """`what: value` for each pair, in their order; pairs that differ in the name of a host alone are one."""
    groups: dict[tuple[str, str], list[str]] = {}
    for what, value in pairs:
        host = next((one for one in hosts if _renamed(what, one, "HOST") != what), "")
        groups.setdefault((_renamed(what, host, "HOST"), _renamed(value, host, "HOST")), []).append(host)
    return tuple(
        f"{_renamed(what, 'HOST', fold(named))}: {_renamed(value, 'HOST', fold(named))}"
        for (what, value), named in groups.items()
    )


def causes(findings: Iterable[Finding]) -> tuple[Cause, ...]:
    """The findings by cause, the gravest first: the same on 30 hosts is one, also where only numbers differ."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in sorted(findings, key=lambda one: GRAVEST_FIRST.index(one.status)):
        groups.setdefault(_key(finding), []).append(finding)
    return tuple(_cause(group) for group in groups.values())


def described(finding: Finding) -> dict[str, str]:
    """A finding as data, with what its check says of itself."""
    one = _cause([finding])
    return {
        "check": finding.check,
        "priority": one.priority,
        "status": str(finding.status),
        "host": finding.host,
        "observed": finding.observed,
        "required": finding.required,
        "why": one.why,
        "remedy": finding.remedy,
        "runbook": one.runbook,
    }


def _key(finding: Finding) -> tuple[str, ...]:
    return (
        finding.check,
        finding.status,
        *(_alike(text, finding.host) for text in (finding.observed, finding.required)),
    )


def _alike(text: str, host: str) -> str:
    """The text without what differs between hosts of one kind: their names and numbers."""
    return re.sub(r"[0-9]+(?:\.[0-9]+)*", "#", _renamed(text, host, "HOST"))


def _renamed(text: str, host: str, name: str) -> str:
    """The text with another name in place of the host's: the whole word, not a letter of another."""
    return re.sub(rf"(?<![\w-]){re.escape(host)}(?![\w-])", lambda _: name, text) if host else text


def _cause(group: Sequence[Finding]) -> Cause:
    seen: dict[str, tuple[str, ...]] = {}
    for one in group:
        seen[one.observed] = (*seen.get(one.observed, ()), *([one.host] if one.host else []))
    first = group[0]
    return Cause(first.check, first.status, seen, first.required, _for_all(group))


def _for_all(group: Sequence[Finding]) -> str:
    """One remedy for all hosts: where only the host's name differs, the range takes its place, as a shell's word.

    `ssh` knows no ranges: there it stays that of the first.
    """
    first = group[0]
    hosts = quote(fold([one.host for one in group]))
    if len({_renamed(one.remedy, one.host, "HOST") for one in group}) > 1 or hosts == first.host:
        return first.remedy
    if f"ssh {first.host}" in first.remedy:
        return f"{first.remedy}  # and so on all of {hosts}"
    return _renamed(first.remedy, first.host, hosts)
