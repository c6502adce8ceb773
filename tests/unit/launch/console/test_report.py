"""What `--json` prints."""

from __future__ import annotations

import json

import pytest

from inventory.errors import HostUnreachable
from launch.console.report import print_json, print_table


def test_a_host_that_did_not_answer_is_data_like_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    error = HostUnreachable(
        "no answer", id="timeout", observed="nothing", required="a login", next_command="x", host="h2"
    )
    print_json("status", {"unanswered": {"h2": error}})
    told = json.loads(capsys.readouterr().out)["data"]["unanswered"]["h2"]
    assert told == {
        "id": "timeout",
        "message": "no answer",
        "observed": "nothing",
        "required": "a login",
        "next_command": "x",
        "host": "h2",
    }
    with pytest.raises(TypeError, match="object is no data"):
        print_json("status", {"x": object()})


def test_a_table_is_as_wide_as_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    """A long last cell must not fill every other line with spaces."""
    print_table(("host", "changes"), [("tray1", "x" * 300), ("tray2", "y")])
    assert [len(line) for line in capsys.readouterr().out.splitlines()] == [14, 307, 8]


@pytest.mark.parametrize(("width", "lines"), [(60, 7), (120, 3)])
def test_a_narrow_terminal_gets_rows_that_can_be_read(
    width: int, lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    long = "http://198.51.100.11:8000, answers in 0.2 s"
    print_table(
        ("host", "state", "endpoint", "note"), [("tray1", "running", long, ""), ("tray2", "no answer", long, "x")]
    )
    said = capsys.readouterr().out
    assert len(said.splitlines()) == lines
    assert said.count(long) == 2, "no address is cut in pieces"
