from __future__ import annotations

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.deployments import read_deployments
from inventory.facts.host import RunningDeployment
from tests.answered import Said, answers

GROUP = '{"format_version": 1, "name": "v4", "generation": "g1", "head": true, "supervisor": "process-group"}'
UNIT = GROUP.replace("process-group", "systemd").replace("true", "false")


def host(report: str, generation: str = GROUP) -> dict[str, Said]:
    return {
        "deployments.folder": "v4\n",
        "deployments.boot": "boot-2\n",
        "deployments.generation.1": generation,
        "deployments.report.1": f"name v4\ngeneration g1\n{report}",
    }


def only(items: dict[str, Said]) -> RunningDeployment:
    found = read_deployments(answers(items))
    assert not isinstance(found, Unknown)
    assert len(found) == 1
    return found[0]


RECORD = "record 77 5000 boot-2\n"


@pytest.mark.parametrize(
    ("report", "state"),
    [
        (f"{RECORD}leader S 5000\nprocess 77\nprocess 78\n", "running"),
        (f"{RECORD}leader Z 5000\nprocess 78\n", "partial"),  # the main process ended, its engine did not
        (f"{RECORD}process 78\n", "partial"),
        (f"{RECORD}leader S 9999\n", "dead"),  # the pid was given to another process
        ("record 77 5000 boot-1\nleader S 5000\n", "dead"),  # the host was rebooted
        (RECORD, "dead"),
        ("", "stopped"),
    ],
)
def test_a_process_group(report: str, state: str) -> None:
    assert only(host(report)).state == state


@pytest.mark.parametrize(
    ("report", "state"),
    [
        ("unit ActiveState=active\nunit MainPID=5\nprocess 5\n", "running"),
        ("unit ActiveState=activating\nunit SubState=auto-restart\nunit MainPID=0\n", "dead"),
        ("unit ActiveState=deactivating\nunit MainPID=0\nprocess 6\n", "partial"),
        ("unit ActiveState=failed\nunit MainPID=0\n", "dead"),
        ("unit ActiveState=inactive\nunit MainPID=0\n", "stopped"),
        ("", "stopped"),
    ],
)
def test_a_unit(report: str, state: str) -> None:
    assert only(host(report, UNIT)).state == state


def test_what_is_told_of_it() -> None:
    assert only(host(f"{RECORD}leader S 5000\nprocess 77\nprocess 78\nprocess x\n")) == RunningDeployment(
        name="v4", generation="g1", head=True, state="running", supervisor="process-group", pids=(77, 78)
    )


def test_a_guard_is_none_of_the_ranks_and_may_hold_a_port() -> None:
    one = only(host("record 77 5000 boot-2\nguard 90\nguard 91\nguard x\n"))
    assert (one.state, one.pids, one.holders) == ("dead", (), (90, 91))


def test_no_folder_is_no_deployment_and_no_permission_is_unknown() -> None:
    absent: Said = (2, "ls: cannot access '/s/deployments': No such file or directory")
    assert read_deployments(answers({"deployments.folder": absent})) == ()
    refused = read_deployments(answers({"deployments.folder": (2, "ls: /s: Permission denied")}))
    assert refused == Unknown(Why.REFUSED, "ls: /s: Permission denied")


def test_a_section_that_ran_out_of_time_does_not_hide_a_deployment() -> None:
    unknown = read_deployments(answers({"deployments.folder": "v4\n"}, ends={"deployments": 124}))
    assert isinstance(unknown, Unknown)
    assert unknown.why is Why.TIMED_OUT
