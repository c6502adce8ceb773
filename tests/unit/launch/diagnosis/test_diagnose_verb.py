"""`invoke diagnose --replay`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inventory.errors import BadInput, ExitCode
from launch.verbs.diagnosing import diagnose
from tests.unit.launch.diagnosis.captures import begins, traceback

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB."


def replay(folder: Path, *, as_json: bool = False, capture: str = "") -> ExitCode:
    return diagnose(hosts="all", name="", inventory="", replay=str(folder), capture=capture, json=as_json)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tray1.log").write_text(begins("10:00:00") + traceback("10:01:00", OOM, process="Worker_TP3"))
    return tmp_path


def test_the_answer_its_lines_and_what_to_type(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(folder) is ExitCode.NOT_SERVING
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "first cause: a GPU of tray1 ran out of memory [F-CUDA-OOM]"
    assert any(line.startswith("  where: tray1, rank 3, at 11-29 10:01:00") for line in lines)
    assert any("tray1.log:6 11-29 10:01:00:" in line and OOM in line for line in lines)
    assert any(line.startswith("next: invoke deploy --model MODEL --hosts tray1 ") for line in lines)
    assert "not checked: no kernel log of tray1" in lines
    assert lines[-1] == "more: docs/runbooks/F-CUDA-OOM.md"


def test_the_same_as_data(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(folder, as_json=True) is ExitCode.NOT_SERVING
    document = json.loads(capsys.readouterr().out)
    data = document["data"]
    assert (document["format_version"], document["kind"]) == (1, "diagnosis")
    assert (data["answer"], data["id"], data["host"], data["ranks"]) == ("known", "F-CUDA-OOM", "tray1", [3])
    assert data["first"]["evidence"][0]["line"] == 6
    assert data["first"]["role"] == "cause"


def test_nothing_wrong_is_exit_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tray1.log").write_text(begins("10:00:00") + "INFO:     Application startup complete.\n")
    assert replay(tmp_path) is ExitCode.DONE
    assert "nothing found that failed" in capsys.readouterr().out


def test_a_host_that_did_not_answer_is_exit_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = {
        "format_version": 1,
        "kind": "capture",
        "at": 1796005536.2,
        "hosts": {},
        "unanswered": {"tray2": "no route"},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(told))
    (tmp_path / "tray1").mkdir()
    (tmp_path / "tray1/log").write_text(begins("10:00:00") + "INFO:     Application startup complete.\n")
    assert replay(tmp_path) is ExitCode.UNREACHABLE
    assert "not checked: tray2 did not answer: no route" in capsys.readouterr().out


def test_two_ways_at_once_are_refused(folder: Path) -> None:
    with pytest.raises(BadInput, match="exclude each other"):
        replay(folder, capture="x")


def test_a_line_of_a_log_cannot_move_the_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tray1.log").write_text(f"{OOM} \x07\x1b]0;owned\x07 \x9b31m\u202e\n")
    assert replay(tmp_path) is ExitCode.NOT_SERVING
    assert not [one for one in capsys.readouterr().out if not one.isprintable() and one != "\n"]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"kind": "capture", "format_version": 1, "hosts": []}', '{"kind": "capture"']
)
def test_a_manifest_that_is_none_does_not_matter(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    assert replay(folder) is ExitCode.NOT_SERVING


def test_a_capture_never_goes_where_something_is(folder: Path) -> None:
    with pytest.raises(BadInput, match="bundle"):
        diagnose(hosts="all", name="", inventory="", replay="", capture=str(folder), json=False)
