from __future__ import annotations

import pytest

from inventory.facts.gpu.quantity import parse_bytes, parse_switch, told


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("40960 MiB", 40960 << 20),
        ("196592 MB", 196592 << 20),
        ("205822885888 B", 205822885888),
        ("1.5 GiB", 3 << 29),
        ("12", 12),
        ("N/A", None),
        ("[N/A]", None),
        ("Not Supported", None),
        ("12 furlongs", None),
        ("-1 MiB", None),
    ],
)
def test_bytes(text: str, size: int | None) -> None:
    assert parse_bytes(text) == size


def test_the_unit_of_a_bare_number() -> None:
    assert parse_bytes("81559", unit="MiB") == 81559 << 20


@pytest.mark.parametrize(
    "text", ["N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "ERR!", "", "None", "Not Found"]
)
def test_a_tool_that_has_no_value(text: str) -> None:
    assert told(text) is None


def test_a_name_that_only_begins_like_one() -> None:
    assert told("N/A-TYPE 5") == "N/A-TYPE 5"


def test_switches() -> None:
    assert [parse_switch(text) for text in ("Enabled", "disabled", "N/A")] == [True, False, None]
