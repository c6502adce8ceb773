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


@given(st.text(max_size=60))
def test_a_name_is_a_safe_folder_or_refused(value: str) -> None:
    try:
        name = request.deployment_name(value)
    except BadInput:
        return
    assert name is None or (not set(name) & set("/ \\\0%$\n'\"@") and name[0] not in ".-" and name != "current")


def test_what_a_log_holds_is_shown_and_moves_no_cursor() -> None:
    assert printable("\x1b[31mred\x1b[0m\ttab \u00e9") == "\\x1b[31mred\\x1b[0m\ttab \u00e9"
