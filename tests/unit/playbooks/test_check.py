from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import pytest

from inventory.errors import BadInput, HostUnreachable, Several
from inventory.facts.base import Unknown, Why
from inventory.facts.host import HostFacts
from playbooks import check as runner
from playbooks.check import blocking, leave_out, run_checks, unreachable_findings
from playbooks.checks import CHECKS, GANG_CHECKS, HOST_CHECKS, gpu_owners, net_iface
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements
from tests.unit.playbooks.checks.gang import (
    alone,
    change,
    cpu_host,
    cpu_needs,
    gang_needs,
    tray,
    tray_needs,
    trays,
)

HUNG = Unknown(Why.TIMED_OUT, "no answer in 20 s")
BLIND = HostFacts("tray1", HUNG, HUNG, HUNG, HUNG, HUNG, HUNG, HUNG, HUNG, HUNG, HUNG, noise="", seconds=20.0)


def of(findings: tuple[Finding, ...], check: str) -> list[Finding]:
    return [finding for finding in findings if finding.check == check]


def test_a_healthy_gang_is_not_blocked_and_not_warned() -> None:
    findings = run_checks(trays(), gang_needs())
    assert [finding for finding in findings if finding.status not in {Status.PASS, Status.SKIP}] == []


def test_a_healthy_cpu_host_is_not_blocked() -> None:
    assert blocking(run_checks({"tray1": cpu_host()}, alone(cpu_needs()))) == ()


def test_every_check_speaks_of_every_host() -> None:
    findings = run_checks(trays(), gang_needs())
    for host in ("tray1", "tray2"):
        spoken = {finding.check for finding in findings if finding.host == host}
        assert {check.ID for check in HOST_CHECKS} <= spoken
    assert {check.ID for check in GANG_CHECKS} <= {finding.check for finding in findings}


def test_of_a_host_whose_facts_are_all_unknown_nothing_passes_that_reads_them() -> None:
    findings = run_checks({"tray1": BLIND}, alone(tray_needs()))
    of_the_plan = {"ctl.hosts_parse", "os.log_path"}
    told_without_facts = {"ssh.reach", "ssh.hostkey", "ssh.stdout_clean", *of_the_plan}
    of_hosts = [finding for finding in findings if not finding.check.startswith("plan.")]
    passed = {finding.check for finding in of_hosts if finding.status is Status.PASS}
    assert passed == told_without_facts


def test_a_host_without_facts_is_unknown_and_the_others_are_checked() -> None:
    findings = run_checks({"tray1": tray()}, gang_needs())
    (missing,) = [f for f in findings if f.host == "tray2" and f.check == "ssh.reach"]
    assert missing.status is Status.UNKNOWN
    assert len([finding for finding in findings if finding.host == "tray1"]) >= len(HOST_CHECKS)
    assert not [f for f in findings if f.host == "tray2" and f.status is Status.PASS]


class Broken:
    ID = "gpu.owners"
    PRIORITY = gpu_owners.PRIORITY
    WHY = gpu_owners.WHY

    @staticmethod
    def check(_facts: HostFacts, _needs: HostRequirements) -> Finding:
        raise ZeroDivisionError("one over nothing")


class BrokenGang(Broken):
    ID = "net.iface"
    PRIORITY = net_iface.PRIORITY
    WHY = net_iface.WHY

    @staticmethod
    def check(_facts: Mapping[str, HostFacts], _needs: Requirements) -> tuple[Finding, ...]:  # type: ignore[override]
        raise KeyError("eth9")


def test_a_broken_check_is_unknown_with_its_error_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "HOST_CHECKS", (Broken, *HOST_CHECKS))
    monkeypatch.setattr(runner, "GANG_CHECKS", (BrokenGang, *GANG_CHECKS))
    findings = run_checks(trays(), gang_needs())
    broken = [finding for finding in findings if "broke" in finding.observed]
    assert [(f.check, f.host, f.status) for f in broken] == [
        ("gpu.owners", "tray1", Status.UNKNOWN),
        ("gpu.owners", "tray2", Status.UNKNOWN),
        ("net.iface", "", Status.UNKNOWN),
    ]
    assert "ZeroDivisionError: one over nothing" in broken[0].observed
    assert "--accept-unknown gpu.owners" in broken[0].remedy


FULL = trays() | {"tray2": change(tray("tray2"), "memory", available_bytes=1)}
UNREAD = trays() | {"tray2": replace(tray("tray2"), memory=HUNG)}


def test_an_override_makes_its_failed_findings_warnings_that_say_so() -> None:
    before = run_checks(FULL, gang_needs())
    after = run_checks(FULL, gang_needs(), overrides={"os.memory": "zram is on"})
    assert [finding.check for finding in blocking(before)] == ["os.memory"]
    assert blocking(after) == ()
    (overridden,) = [finding for finding in of(after, "os.memory") if finding.host == "tray2"]
    assert overridden.status is Status.WARN
    assert "overridden because 'zram is on'" in overridden.observed


def test_an_accepted_unknown_is_a_warning_that_says_so() -> None:
    after = run_checks(UNREAD, gang_needs(), accept_unknown=frozenset({"os.memory"}))
    (accepted,) = [finding for finding in of(after, "os.memory") if finding.host == "tray2"]
    assert accepted.status is Status.WARN
    assert "(unknown, accepted)" in accepted.observed


def test_an_override_is_not_an_acceptance_nor_the_other_way_round() -> None:
    assert blocking(run_checks(UNREAD, gang_needs(), overrides={"os.memory": "why not"}))
    assert blocking(run_checks(FULL, gang_needs(), accept_unknown=frozenset({"os.memory"})))


def test_a_decision_on_one_check_leaves_the_others_alone() -> None:
    assert blocking(run_checks(FULL, gang_needs(), overrides={"os.clock": "lab"}))


def test_an_id_that_no_check_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match=r"no check 'os\.memry'") as caught:
        run_checks(trays(), gang_needs(), accept_unknown=frozenset({"os.memry"}))
    assert "os.memory" in caught.value.required


@pytest.mark.parametrize("word", ["all", "*", ""])
def test_there_is_no_way_to_name_all_checks(word: str) -> None:
    with pytest.raises(BadInput):
        run_checks(trays(), gang_needs(), overrides={word: "hurry"})


def test_an_override_without_a_reason_is_refused() -> None:
    with pytest.raises(BadInput, match="has no reason"):
        run_checks(trays(), gang_needs(), overrides={"os.memory": " "})


def test_all_wrong_ids_are_told_at_once() -> None:
    with pytest.raises(Several) as caught:
        run_checks(trays(), gang_needs(), overrides={"os.memory": "", "os.memry": "x"})
    assert len(caught.value.errors) == 2


def test_a_check_that_is_left_out_says_so_and_the_others_run() -> None:
    findings = run_checks(FULL, gang_needs(), left_out=leave_out((), ("os.memory", "net.mtu_equal"), "zram is on"))
    assert blocking(findings) == ()
    for name in ("os.memory", "net.mtu_equal"):
        (left,) = of(findings, name)
        assert (left.status, left.observed) == (Status.SKIP, "left out: zram is on")
    assert of(findings, "gpu.count")


def test_only_some_checks_run() -> None:
    findings = run_checks(FULL, gang_needs(), left_out=leave_out(("os.memory",), (), "a quick look"))
    assert {finding.check for finding in findings if finding.status is not Status.SKIP} == {"os.memory"}


@pytest.mark.parametrize(
    ("only", "skip"), [((), ("gpu.count",)), (("os.memory",), ()), ((), ("gpu.count", "os.memory"))]
)
def test_a_check_of_priority_0_is_left_out_with_a_reason_only(only: tuple[str, ...], skip: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="priority 0"):
        leave_out(only, skip, " ")
    assert "gpu.count" in leave_out(only, skip, "no GPU here")


def test_a_lesser_check_is_left_out_without_one() -> None:
    assert leave_out((), ("plan.drain",), "") == {"plan.drain": "not asked for"}
    assert leave_out((), (), "") == {}


def test_an_unknown_check_cannot_be_left_out() -> None:
    with pytest.raises(BadInput, match=r"no check 'plan\.drian'"):
        leave_out((), ("plan.drian",), "hurry")


def refused(id: str, **more: str) -> HostUnreachable:  # noqa: A002
    return HostUnreachable("it did not answer", id=id, host="tray2", **more)


@pytest.mark.parametrize(
    ("error", "check", "status"),
    [
        ("host-key-changed", "ssh.hostkey", Status.FAIL),
        ("host-key-unknown", "ssh.hostkey", Status.FAIL),
        ("dns", "ssh.reach", Status.FAIL),
        ("refused", "ssh.reach", Status.FAIL),
        ("auth", "ssh.reach", Status.FAIL),
        ("banner", "ssh.reach", Status.FAIL),
        ("no-route", "ssh.reach", Status.FAIL),
        ("timeout", "ssh.reach", Status.FAIL),
        ("connection-lost", "ssh.reach", Status.UNKNOWN),
    ],
)
def test_what_the_transport_said_becomes_a_finding(error: str, check: str, status: Status) -> None:
    (finding,) = unreachable_findings({"tray2": refused(error)})
    assert (finding.check, finding.host, finding.status) == (check, "tray2", status)
    assert finding.blocks
    assert f"[{error}]" in finding.observed


def test_the_transport_s_own_words_win_over_the_general_ones() -> None:
    error = refused("host-key-changed", observed="known_hosts:47", next_command="invoke hosts.trust --hosts tray2")
    (finding,) = unreachable_findings({"tray2": error})
    assert "known_hosts:47" in finding.observed
    assert finding.remedy == "invoke hosts.trust --hosts tray2"


def many(number: int) -> tuple[dict[str, HostFacts], Requirements]:
    """A gang of `number` trays with one rank per GPU."""
    hosts = [f"tray{i}" for i in range(1, number + 1)]
    needs = replace(
        gang_needs(),
        hosts=tuple(tray_needs(host) for host in hosts),
        data_parallel_size=4 * number,
        ranks=tuple(host for host in hosts for _ in range(4)),
    )
    return {host: tray(host) for host in hosts}, needs


def test_64_hosts_are_checked_in_well_under_two_seconds_of_cpu() -> None:
    facts, needs = many(64)
    begun = time.process_time()
    findings = run_checks(facts, needs)
    assert time.process_time() - begun < 1.0
    assert len(findings) >= 64 * len(HOST_CHECKS)


def test_the_ids_are_those_of_the_registry() -> None:
    assert {finding.check for finding in run_checks(trays(), gang_needs())} == CHECKS.keys()
