"""The one function that makes untrusted text safe inside a POSIX shell script."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def quote(text: object) -> str:
    """Quote `text` as one shell word.

    Raises `ValueError` for a NUL byte, which no shell word and no file name can hold.
    """
    word = str(text)
    if "\0" in word:
        raise ValueError("a NUL byte cannot be passed to a shell")
    return shlex.quote(word)


def quote_all(words: Iterable[object]) -> str:
    """Quote each of `words` and join them to a command line."""
    return " ".join(map(quote, words))
