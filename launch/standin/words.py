"""What the stand-in answers: words that say what they are."""

from __future__ import annotations

from collections.abc import Sequence

OPENING = "SIMULATED answer of the bringup stand-in engine, no model was run. Your last words were:"


def answer_words(prompt: str, limit: int) -> Sequence[str]:
    """At most `limit` words, one a token; the first says that it is simulated."""
    return [*OPENING.split(), *prompt.split()[-12:]][:limit]
