"""`install` end to end on this machine: what it sends, does, refuses and leaves."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from inventory.errors import ExitCode, Several
from inventory.fleet import Fleet
from inventory.load import load
from playbooks.control import locked, this_run
from tests.unit.launch.installing.conftest import Operator


def files(base: Path) -> list[str]:
    return sorted(str(path.relative_to(base)) for path in base.rglob("*"))


ALL = ["f", "f/text", "link", "made"]


def test_a_dry_run_sends_nothing_that_changes(
    operator: Operator, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert operator.install(dry_run=True, diff=True, json=True) == ExitCode.CHANGES_PENDING
    changes = json.loads(capsys.readouterr().out)["data"]["plan"]["changes"]
    assert len(changes) == 4
    marks = [line for one in changes for line in one["script"].splitlines() if line.startswith(("mkdir", "cp", "ln"))]
    assert len(marks) >= 3
    marks += ['mkdir "$lock"', 'base64 -d >"$job/script"', "audit.log"]
    assert not [mark for mark in marks if mark in operator.sent.text]
    assert files(operator.base) == []
    assert not (tmp_path / "a-state").exists()

    assert operator.install() == ExitCode.DONE
    jobs = re.findall(r"<<'END' \|\| exit 1\n(.*?)END\n", operator.sent.text, re.DOTALL)
    arrived = [base64.b64decode(found) for found in jobs]
    whole = operator.sent.text + b"".join(arrived).decode()
    assert not [mark for mark in marks if mark not in whole], "and these are what would have been seen"


def test_it_does_the_plan_and_the_next_one_is_empty_after_one_round_trip(operator: Operator) -> None:
    assert operator.install() == ExitCode.DONE
    assert files(operator.base) == ALL
    assert (operator.base / "made").read_text() == "it is first\n"
    assert operator.install() == ExitCode.DONE
    assert {host: len(scripts) for host, scripts in operator.sent.scripts.items()} == {"a": 1}
    assert operator.install(dry_run=True) == ExitCode.DONE


def test_a_setting_changes_what_depends_on_it_too(operator: Operator, capsys: pytest.CaptureFixture[str]) -> None:
    operator.install()
    capsys.readouterr()
    assert operator.install(value="word=second", diff=True) == ExitCode.DONE
    told = capsys.readouterr().err
    assert "-it is first" in told
    assert "+it is second" in told
    assert (operator.base / "made").read_text() == "it is second\n"


def test_phases_can_be_left_out_at_both_ends(operator: Operator) -> None:
    operator.install(stop_before="configure")
    assert files(operator.base) == ["f"]
    operator.install(from_phase="configure", stop_before="services")
    assert files(operator.base) == ["f", "f/text", "link"]
    assert operator.refused(from_phase="services", stop_before="configure").id == "flag-value"
    assert "prepare" in operator.refused(from_phase="prepair").required


def test_limit_takes_some_of_the_hosts_and_no_others(operator: Operator) -> None:
    operator.install(hosts="a,b", limit="b", dry_run=True)
    assert set(operator.sent.scripts) == {"b"}
    assert operator.refused(hosts="a", limit="b").id == "flag-value"


def test_a_saved_plan_is_done_later_if_it_is_still_the_plan(operator: Operator, tmp_path: Path) -> None:
    saved = str(tmp_path / "plan")
    assert operator.install(save=saved) == ExitCode.CHANGES_PENDING
    assert files(operator.base) == []
    (operator.base / "f").mkdir()
    assert operator.refused(apply=saved).id == "plan-outdated"
    assert files(operator.base) == ["f"]
    (operator.base / "f").rmdir()
    assert operator.install(apply=saved) == ExitCode.DONE
    assert files(operator.base) == ALL


def test_a_saved_plan_that_was_edited_does_nothing(operator: Operator, tmp_path: Path) -> None:
    saved = tmp_path / "plan"
    operator.install(save=str(saved))
    saved.write_text(saved.read_text().replace("ln -s --", "touch /tmp/evil; ln -s --"))
    assert operator.refused(apply=str(saved)).id == "plan-outdated"
    assert files(operator.base) == []


def test_a_second_operator_is_told_who_holds_the_host(operator: Operator) -> None:
    first = this_run("install of somebody")
    with Fleet(load(None).resolve("a")) as fleet, locked(fleet, ("a",), first, fleet.state_dirs):
        error = operator.refused()
    assert error.exit_code == ExitCode.LOCKED
    assert "install of somebody" in error.observed
    assert files(operator.base) == []
    assert operator.install() == ExitCode.DONE


def test_steps_that_undo_each_other_have_not_converged(operator: Operator) -> None:
    text = f"  - {{id: again, kind: file, why: w, path: {operator.base}/f/text, content: other, follows: [text]}}\n"
    operator.book.write_text(operator.book.read_text() + text)
    error = operator.refused()
    assert error.id == "not-converged"
    assert "book/text" in error.message


def test_a_restart_that_is_needed_ends_the_run_before_what_is_behind_it(operator: Operator) -> None:
    text = "  - {id: again, kind: reboot, why: w, kernel_arguments: [bringup.test=1]}\n"
    operator.book.write_text(operator.book.read_text() + text)
    error = operator.refused()
    assert (error.id, error.exit_code) == ("reboot-needed", ExitCode.CHANGES_PENDING)
    assert "without bringup.test=1" in error.observed
    assert files(operator.base) == ["f", "f/text", "link"], "nothing of the phase behind it"
    assert "reboot" not in [word for word in operator.sent.text.split() if word.startswith("systemctl")]


def test_errors_of_all_hosts_come_together_and_nothing_is_changed(operator: Operator) -> None:
    text = "  - {id: u, kind: user, why: w, name: someone, uid: 0}\n"
    text += "  - {id: g, kind: group, why: w, name: some, gid: 0}\n"
    operator.book.write_text(operator.book.read_text() + text)
    error = operator.refused(hosts="a,b")
    assert isinstance(error, Several)
    assert [(one.host, one.id) for one in error.errors] == [(h, "account-number-taken") for h in "aabb"]
    assert files(operator.base) == []


def test_a_plan_and_its_flags_are_not_given_twice(operator: Operator, tmp_path: Path) -> None:
    operator.install(save=str(tmp_path / "plan"))
    assert operator.refused(apply=str(tmp_path / "plan"), limit="a").id == "flag-value"


def test_what_changed_is_in_the_audit_log_and_no_lock_is_left(operator: Operator, tmp_path: Path) -> None:
    operator.install()
    assert (tmp_path / "a-state/audit.log").read_text().rstrip().endswith("install book: done")
    assert not (tmp_path / "a-state/lock").exists()
