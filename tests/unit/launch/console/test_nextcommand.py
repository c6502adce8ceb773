from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import tasks
from inventory.errors import ChangeFailed
from launch.console import nextcommand
from launch.console.nextcommand import WITHOUT, remember, with_inventory
from launch.console.report import Report, print_json, print_lines


@pytest.fixture(autouse=True)
def nothing_typed() -> Iterator[None]:
    yield
    remember({})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("invoke probe --hosts a", "invoke probe --inventory 'my hosts.yaml' --hosts a"),
        ("next: invoke status", "next: invoke status --inventory 'my hosts.yaml'"),
        ("invoke hosts.trust --hosts a; invoke probe", "invoke hosts.trust {} --hosts a; invoke probe {}"),
        ("invoke lab.power-off tray1", "invoke lab.power-off tray1"),
        ("invoke recipes.show --model m", "invoke recipes.show --model m"),
        ("invoke probe --hosts a --inventory other", "invoke probe --hosts a --inventory other"),
        ("to invoke it is free", "to invoke it is free"),
        ("the same command again", "the same command again"),
        ("(`invoke jobs`)", "(`invoke jobs {}`)"),
    ],
)
def test_a_command_to_type_next_has_the_inventory(text: str, shown: str) -> None:
    remember({"inventory": "my hosts.yaml"})
    assert with_inventory(text) == shown.replace("{}", "--inventory 'my hosts.yaml'")


@pytest.mark.parametrize("options", [{}, {"inventory": ""}, {"host": "a"}])
def test_nothing_is_added_where_none_was_typed(options: dict[str, str]) -> None:
    remember(options)
    assert with_inventory("invoke probe") == "invoke probe"


def test_everything_that_is_printed_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    remember({"inventory": 'a"b.yaml'})
    Report().say("then: invoke status")
    Report().error(ChangeFailed("m", id="x", observed="o", required="r", next_command="invoke probe --hosts a"))
    print_lines(["invoke jobs"])
    print_json("kind", {"next": "invoke deploy --model m"})
    told = capsys.readouterr()
    assert told.err.count("--inventory 'a\"b.yaml'") == 2
    line, _, document = told.out.partition("\n")
    assert line == "invoke jobs --inventory 'a\"b.yaml'"
    assert json.loads(document)["data"]["next"] == "invoke deploy --inventory 'a\"b.yaml' --model m"


def test_verbs_without_the_flag_are_those_that_are_left_alone() -> None:
    for typed, task in tasks.VERBS:
        takes = any(argument.name == "inventory" for argument in task.get_arguments())
        assert takes is not typed.startswith(WITHOUT), typed
    assert nextcommand.with_inventory("") == ""
