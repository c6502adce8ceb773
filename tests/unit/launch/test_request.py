from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import BadInput
from launch import request
from launch.console.report import printable


@pytest.mark.parametrize("value", ["abc", "0", "65536", "-1", "1e3", "80.5", " 80", "٨٠", "99999999999"])
def test_a_port_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(BadInput, match="--port cannot be used") as caught:
        request.port("port", value, 8000)
    assert value in caught.value.observed


def test_ports_and_defaults() -> None:
    assert request.port("port", "", 8000) == 8000
    assert request.port("port", "65535", 8000) == 65535
    assert request.seconds("timeout", "1.5", 9) == 1.5


@pytest.mark.parametrize("value", ["", "  ", "\t"])
def test_a_missing_flag_names_itself(value: str) -> None:
    with pytest.raises(BadInput, match="--hosts is missing"):
        request.required("hosts", value, "tray1,tray2")


def test_an_override_needs_its_reason() -> None:
    assert request.overrides("", "") == {}
    assert request.overrides("a.b, c.d", "spare parts are late") == dict.fromkeys(
        ["a.b", "c.d"], "spare parts are late"
    )
    with pytest.raises(BadInput, match="--because"):
        request.overrides("a.b", " ")


@pytest.mark.parametrize(
    ("flag", "next_command"),
    [
        ("model", "invoke recipes.list"),
        ("hosts", "invoke hosts.list"),
        ("client", "the same command with --client curl"),
    ],
)
def test_what_is_missing_comes_with_what_names_it(flag: str, next_command: str) -> None:
    with pytest.raises(BadInput) as caught:
        request.required(flag, "", "curl")
    assert caught.value.next_command == next_command


@pytest.mark.parametrize(
    ("refused", "observed", "next_command"),
    [
        (request.refused("port", "x", "a port"), '--port "x"', "the same command with another --port"),
        (request.refused("active", "", "hosts"), "--active", "the same command without --active"),
        (
            request.refused("alert", "logger", "--supervise", instead="with --supervise"),
            '--alert "logger"',
            "the same command with --supervise",
        ),
    ],
)
def test_a_refused_flag_says_what_to_type_in_its_place(refused: BadInput, observed: str, next_command: str) -> None:
    assert (refused.observed, refused.next_command) == (observed, next_command)


@given(st.text(max_size=60))
def test_a_name_is_a_safe_folder_or_refused(value: str) -> None:
    try:
        name = request.deployment_name(value)
    except BadInput:
        return
    assert name is None or (not set(name) & set("/ \\\0%$\n'\"@") and name[0] not in ".-" and name != "current")


def test_what_a_log_holds_is_shown_and_moves_no_cursor() -> None:
    assert printable("\x1b[31mred\x1b[0m\ttab \u00e9") == "\\x1b[31mred\\x1b[0m\ttab \u00e9"
