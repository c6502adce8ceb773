"""Did you mean: the nearest known word to a mistyped one."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 100  # comparing is quadratic, and no name that people type is longer


def nearest(word: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """The known word most like `word`, None when none is near; `likeness` 1 wants the same word."""
    if len(word) > _LONGEST:
        return None
    folded = {one.lower(): one for one in known if len(one) <= _LONGEST}
    found = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=likeness)
    return folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence: `, did you mean X?`, or nothing."""
    one = nearest(word, known)
    return f", did you mean {one}?" if one else ""
