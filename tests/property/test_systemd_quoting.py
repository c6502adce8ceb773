"""Units: whatever a name or path holds, systemd reads back exactly that, and nothing in it is expanded."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.building.unit import systemd_path, systemd_quote

PRINTABLE = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40)
CONTROL = st.sampled_from([*map(chr, range(32)), "\x7f"])


def systemd_reads(word: str) -> str:
    """Read one quoted word as systemd does: C escapes, then specifiers, then variables (man systemd.syntax)."""
    assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', word, re.DOTALL), "one word, closed at its end"
    text = re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.DOTALL)
    assert not re.search(r"(?<!%)(?:%%)*%(?!%)", text), "a specifier would be expanded"
    assert not re.search(r"(?<!\$)(?:\$\$)*\$(?!\$)", text), "a variable would be expanded"
    return text.replace("%%", "%").replace("$$", "$")


@given(PRINTABLE)
def test_a_quoted_word_is_read_back(text: str) -> None:
    assert systemd_reads(systemd_quote(text)) == text


@given(PRINTABLE, CONTROL, PRINTABLE)
def test_control_characters_are_refused(before: str, control: str, after: str) -> None:
    for function in (systemd_quote, systemd_path):
        with pytest.raises(ValueError, match="control character"):
            function(before + control + after)
