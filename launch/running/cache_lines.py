"""What vLLM itself logged of its KV cache, and how far the prediction was from it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LINE = re.compile(
    r"KV cache size: (?P<tokens>[\d,]+) tokens"
    r"(?:, Maximum concurrency for (?P<context>[\d,]+) tokens per request: (?P<times>\d+(?:\.\d+)?)x)?"
)
SIMULATED = "(simulated)"
"""What the stand-in engine ends its line with: no memory was filled, and no prediction is held against it."""
MOST_LINES = 64
MOST_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Actual:
    """The line of one engine: its tokens, and its requests of `context` tokens where it tells them."""

    tokens: int
    context: int | None
    concurrency: float | None
    line: str


def of_line(line: str) -> Actual | None:
    """Read a line of a log; None when it is not the one."""
    found = LINE.search(line)
    if found is None:
        return None
    context, times = found["context"], found["times"]
    return Actual(
        tokens=_number(found["tokens"]),
        context=_number(context) if context else None,
        concurrency=float(times) if times else None,
        line=line,
    )


def of_lines(lines: Iterable[str]) -> tuple[Actual, ...]:
    """Read stored lines, one an engine; whatever else somebody wrote between them is left out."""
    return tuple(found for line in lines if (found := of_line(line)))[:MOST_LINES]


def kept(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines as they may be written to a host: readable characters, and not without an end."""
    readable = ("".join(one for one in line if one.isprintable())[:MOST_CHARACTERS] for line in lines)
    return tuple(readable)[:MOST_LINES]


def against(predicted: int | None, *, at_most: bool, seen: Sequence[Actual]) -> str:
    """`65,536 tokens, as predicted` and its like, for the engines of one host; empty when none told anything."""
    if not seen:
        return ""
    tokens = sorted({one.tokens for one in seen})
    told = " to ".join(f"{one:,}" for one in (tokens if len(tokens) < 2 else (tokens[0], tokens[-1])))
    told = f"{len(seen)} x {told} tokens" if len(seen) > 1 else f"{told} tokens"
    if any(one.line.endswith(SIMULATED) for one in seen):
        return f"{told}, simulated"
    if not predicted:
        return f"{told}, nothing was predicted"
    off = 100 * (tokens[0] - predicted) / predicted
    if abs(off) < 0.05:
        return f"{told}, as predicted"
    bound = "at most " if at_most else ""
    return f"{told}, predicted {bound}{predicted:,} ({off:+.1f} %)"


def _number(text: str) -> int:
    return int(text.replace(",", "") or 0)
