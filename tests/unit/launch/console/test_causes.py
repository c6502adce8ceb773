from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.console.causes import causes, described, told_of_all
from playbooks.finding import Finding, Status

HOSTS = [f"tray{number:02}" for number in range(1, 31)]


def shallow(host: str, cores: int = 8) -> Finding:
    return Finding("cpu.physical_cores", Status.FAIL, host, f"{cores} cores", "10 cores", f"ssh {host} lscpu")


def test_the_same_on_thirty_hosts_is_one() -> None:
    (one,) = causes(map(shallow, HOSTS))
    first, observed, required, why, remedy, more = one.lines()
    assert first == "FAIL cpu.physical_cores (P0) on tray[01-30]"
    assert observed == "  observed: 8 cores"
    assert required == "  required: 10 cores"
    assert why.startswith("  why: ")
    assert remedy == "  next: ssh tray01 lscpu  # and so on all of 'tray[01-30]'"
    assert more == "  more: docs/runbooks/cpu.physical_cores.md"


def test_numbers_that_differ_are_one_cause_and_shown() -> None:
    (one,) = causes([shallow("a", 8), shallow("b", 6), shallow("c", 8)])
    assert one.seen() == "8 cores (a,c); 6 cores (b)"
    assert one.hosts == ("a", "c", "b")


def test_many_that_differ_are_counted() -> None:
    (one,) = causes([shallow(host, cores) for cores, host in enumerate(HOSTS)])
    assert one.seen().endswith("; and 27 more alike")


def test_another_sentence_is_another_cause() -> None:
    other = Finding("cpu.physical_cores", Status.FAIL, "b", "no core is allowed", "10 cores", "x")
    assert len(causes([shallow("a"), other])) == 2


def test_a_range_in_a_command_of_ours_is_one_word_for_every_shell() -> None:
    """zsh looks for files called so, and runs nothing when there are none."""
    found = [
        Finding("os.nofile", Status.FAIL, host, "x", "y", f"invoke install --hosts {host}") for host in ("a1", "a2")
    ]
    assert causes(found)[0].remedy == "invoke install --hosts 'a[1-2]'"


def test_a_remedy_of_one_host_alone_stays() -> None:
    findings = [
        Finding("os.memory", Status.WARN, host, "low", "more", f"kill {pid}") for host, pid in (("a", 1), ("b", 2))
    ]
    (one,) = causes(findings)
    assert one.remedy == "kill 1"


def test_the_gravest_come_first() -> None:
    told = [
        Finding("os.arch", Status.PASS, "a", "fine"),
        Finding("os.clock", Status.WARN, "a", "late", "soon", "wait"),
        Finding("os.memory", Status.UNKNOWN, "a", "?", "memory", "look"),
        shallow("a"),
    ]
    assert [one.status for one in causes(told)] == [Status.FAIL, Status.UNKNOWN, Status.WARN, Status.PASS]


def test_the_plan_has_no_host() -> None:
    (one,) = causes([Finding("plan.world", Status.FAIL, "", "DP 8", "DP 4", "choose")])
    assert one.lines()[0] == "FAIL plan.world (P0) on the plan"


def test_as_data_a_finding_says_what_its_check_is() -> None:
    told = described(shallow("a"))
    assert told["priority"] == "P0"
    assert told["runbook"] == "docs/runbooks/cpu.physical_cores.md"
    assert told["why"]
    assert (told["status"], told["host"]) == ("fail", "a")


@given(st.lists(st.tuples(st.sampled_from(HOSTS), st.integers(0, 9), st.sampled_from(list(Status)))))
def test_no_finding_is_lost(rows: list[tuple[str, int, Status]]) -> None:
    findings = [Finding("os.memory", status, host, f"{number} GiB", "more", "look") for host, number, status in rows]
    told = causes(findings)
    assert sum(len(one.hosts) for one in told) == len(findings)
    assert {(one.status, text) for one in told for text in one.observed} == {(f.status, f.observed) for f in findings}


@pytest.mark.parametrize("name", ["no.such", ""])
def test_an_unknown_check_is_still_shown(name: str) -> None:
    (one,) = causes([Finding(name, Status.FAIL, "a", "x", "y", "z")])
    assert one.why == ""


def test_a_warning_in_brief() -> None:
    (one,) = causes([Finding("os.clock", Status.WARN, host, "2 s late", "in time", "wait") for host in ("a1", "a2")])
    assert one.brief() == ("WARN os.clock on a[1-2]: 2 s late", "  next: wait")


def test_decisions_that_differ_in_the_host_alone_are_told_once() -> None:
    pairs = [("nodes", "2"), ("pinning of t1", "t1 whole"), ("pinning of t2", "t2 whole"), ("pinning of t3", "none")]
    assert told_of_all(pairs, ["t1", "t2", "t3"]) == (
        "nodes: 2",
        "pinning of t[1-2]: t[1-2] whole",
        "pinning of t3: none",
    )
