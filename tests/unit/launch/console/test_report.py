"""What `--json` prints."""

from __future__ import annotations

import json

import pytest

from inventory.errors import HostUnreachable
from launch.console.report import print_json


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
