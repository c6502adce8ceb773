"""Shell words: any text without NUL reaches a real shell as one word, byte for byte."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.quoting import quote, quote_all

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=6))
def test_words_survive_a_real_shell(words: list[str]) -> None:
    done = subprocess.run(
        ["/bin/sh", "-s"],
        input=f"printf '%s\\0' {quote_all(words)}".encode(),
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().split("\0")[:-1] == words


@given(TEXT, TEXT)
def test_nul_is_refused(before: str, after: str) -> None:
    with pytest.raises(ValueError, match="NUL"):
        quote(before + "\0" + after)
