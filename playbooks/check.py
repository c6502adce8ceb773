"""Run all checks. None stops the others or bringup: a check that breaks is an unknown finding."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from inventory.errors import BadInput, HostUnreachable, raise_all
from inventory.facts.host import HostFacts
from playbooks.checks import CHECKS, GANG_CHECKS, HOST_CHECKS, ssh_agent_keys, ssh_hostkey, ssh_reach
from playbooks.checks.active import ACTIVE
from playbooks.checks.base import Check, Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

KNOWN: Mapping[str, Check] = {**CHECKS, **ACTIVE}
"""All that an operator can decide on."""


def run_checks(
    facts: Mapping[str, HostFacts],
    needs: Requirements,
    *,
    accept_unknown: frozenset[str] = frozenset(),
    overrides: Mapping[str, str] | None = None,
    left_out: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Every finding about the hosts of `needs`: host by host, then of the gang.

    `accept_unknown`: ids whose unknown findings become warnings. `overrides`: by id, the operator's reason to
    make a failed finding a warning. `left_out`: by id, why a check is not run at all (see `leave_out`). All stay
    visible. Raises `BadInput` for an id that no check has and for an empty reason.
    """
    overrides, left_out = overrides or {}, left_out or {}
    _known_ids(accept_unknown, overrides)
    findings: list[Finding] = []
    for one in needs.hosts:
        findings += _of_host(facts.get(one.host), one, left_out)
    for gang_check in GANG_CHECKS:
        if gang_check.ID not in left_out:
            findings += _guarded(gang_check, "", lambda check=gang_check: check.check(facts, needs))  # type: ignore[misc]
    findings += [Finding(check, Status.SKIP, "", f"left out: {why}") for check, why in left_out.items()]
    return decided(findings, accept_unknown, overrides)


def decided(
    findings: Iterable[Finding], accept_unknown: Collection[str], overrides: Mapping[str, str]
) -> tuple[Finding, ...]:
    """The findings after the operator's decisions, which stay visible in them."""
    return tuple(_decided(finding, accept_unknown, overrides) for finding in findings)


def leave_out(only: Collection[str], skip: Collection[str], because: str) -> dict[str, str]:
    """The checks that are not run, by id with the reason: those in `skip`, and all others where `only` names some.

    Raises `BadInput` for an id that no check has, and where a check of priority 0 would be left out without a reason.
    """
    raise_all([_no_such_check(name) for name in {*only, *skip} - CHECKS.keys()])
    wanted = set(only or CHECKS) - set(skip)
    left_out = [name for name in CHECKS if name not in wanted]
    urgent = [name for name in left_out if CHECKS[name].PRIORITY is Priority.P0]
    if urgent and not because.strip():
        raise BadInput(
            f"{len(urgent)} check(s) of priority 0 would be left out, {urgent[0]} among them",
            id="check-left-out",
            observed="--only or --skip without a reason",
            required="a reason that the next operator understands: each of these stops most launches",
            next_command="the same command with --because 'REASON'",
        )
    return dict.fromkeys(left_out, because.strip() or "not asked for")


def unreachable_findings(errors: Mapping[str, HostUnreachable]) -> tuple[Finding, ...]:
    """What the transport said of hosts that have no facts, by inventory name."""
    found = [
        (ssh_hostkey if error.id in ssh_hostkey.ERRORS else ssh_reach).from_error(host, error)
        for host, error in errors.items()
    ]
    found += [ssh_agent_keys.from_error(host, one) for host, one in errors.items() if ssh_agent_keys.is_cause_of(one)]
    return tuple(found)


def blocking(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings that forbid a change."""
    return tuple(finding for finding in findings if finding.blocks)


def _of_host(facts: HostFacts | None, needs: HostRequirements, left_out: Collection[str]) -> list[Finding]:
    if facts is None:
        return [ssh_reach.missing(needs.host)]
    findings: list[Finding] = []
    for check in HOST_CHECKS:
        if check.ID in left_out:
            continue
        findings += _guarded(check, needs.host, lambda check=check: (check.check(facts, needs),))  # type: ignore[misc]
    return findings


def _guarded(check: Check, host: str, run: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
    try:
        return run()
    except Exception as error:  # noqa: BLE001  (whatever it is, the other checks must still be heard)
        observed = f"the check broke: {type(error).__name__}: {error}"
        remedy = f"report it as a bug of bringup; to go on without: --accept-unknown {check.ID}"
        return (Finding(check.ID, Status.UNKNOWN, host, observed, "the check runs to its end", remedy),)


def _decided(finding: Finding, accept_unknown: Collection[str], overrides: Mapping[str, str]) -> Finding:
    """The operator's decision on a finding, if there is one; it stays visible."""
    if finding.status is Status.UNKNOWN and finding.check in accept_unknown:
        return replace(finding, status=Status.WARN, observed=f"{finding.observed} (unknown, accepted)")
    if finding.status is Status.FAIL and finding.check in overrides:
        reason = f"{finding.observed} (failed, overridden because {overrides[finding.check]!r})"
        return replace(finding, status=Status.WARN, observed=reason)
    return finding


def _known_ids(accept_unknown: frozenset[str], overrides: Mapping[str, str]) -> None:
    errors: list[BadInput] = [_no_such_check(name) for name in {*accept_unknown, *overrides} - KNOWN.keys()]
    errors += [
        BadInput(
            f"the override of {name} has no reason",
            id="override-without-reason",
            observed=repr(reason),
            required="a reason that the next operator understands",
            next_command=f"--override {name} --because 'REASON'",
        )
        for name, reason in overrides.items()
        if not reason.strip()
    ]
    raise_all([*errors])


def _no_such_check(name: str) -> BadInput:
    near = get_close_matches(name, KNOWN, n=1)
    return BadInput(
        f"there is no check {name!r}",
        id="unknown-check",
        observed=repr(name),
        required="the id of a check" + (f"; did you mean {near[0]}?" if near else ""),
        next_command="ls docs/runbooks  # every check has a runbook of its name",
    )
