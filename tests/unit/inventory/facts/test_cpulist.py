from __future__ import annotations

import pytest

from inventory.facts.cpulist import format_list, parse_list, parse_mask


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3", (0, 1, 2, 3)),
        ("0,1", (0, 1)),
        ("8,0-1,1", (0, 1, 8)),
        ("0-10:2", (0, 2, 4, 6, 8, 10)),
        ("0-15,88-91\n", (*range(16), 88, 89, 90, 91)),
        ("\n", ()),
        ("0-1\n\0", (0, 1)),
    ],
)
def test_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_list(text) == cpus


@pytest.mark.parametrize("text", ["a", "3-1", "0-4:0", "-1", "0--3", "1e3", "0-99999999", "٣"])
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        parse_list(text)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("f", (0, 1, 2, 3)),
        ("00000001,00000000", (32,)),
        ("1,0", (32,)),
        ("00000000,0000000f\n\0", (0, 1, 2, 3)),
        ("0", ()),
    ],
)
def test_masks(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_mask(text) == cpus


def test_a_mask_must_be_hexadecimal() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        parse_mask("fg")


def test_formatting_is_the_reverse() -> None:
    assert format_list((0, 1, 2, 8, 10, 11)) == "0-2,8,10-11"
    assert format_list(()) == ""
