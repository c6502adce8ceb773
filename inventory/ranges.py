"""Numbered names: `gpu[01-16]`, `node[1-3,7]`, `rack[a-c]gpu[0-3]`."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_HOSTS: Final = 4096

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_NUMBERS = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_LAST_NUMBER = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)
_MOST_DIGITS: Final = 9
_LETTERS = re.compile(r"([a-z])-([a-z])|([A-Z])-([A-Z])|([A-Za-z])")


@dataclass(frozen=True, slots=True)
class _Span:
    """`first` to `last` inclusive, as numbers of at least `width` digits or, without a width, as letters."""

    first: int
    last: int
    width: int | None

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __iter__(self) -> Iterator[str]:
        for number in range(self.first, self.last + 1):
            yield chr(number) if self.width is None else f"{number:0{self.width}}"


def expand(pattern: str) -> tuple[str, ...]:
    """All names of a pattern, the last bracket counting fastest; a name without brackets is itself.

    Raises `ValueError` with what is required.
    """
    literals = _BRACKETS.split(pattern)[::2]
    if any(one in literal for literal in literals for one in "[]"):
        raise ValueError("brackets in pairs, not inside each other")
    choices = [_spans(inside) for inside in _BRACKETS.findall(pattern)]
    count = math.prod(sum(map(len, spans)) for spans in choices)
    if count > MAX_HOSTS:
        raise ValueError(f"at most {MAX_HOSTS} hosts, not {count}")
    texts = [[text for span in spans for text in span] for spans in choices]
    return tuple(
        literals[0] + "".join(itertools.chain.from_iterable(zip(row, literals[1:], strict=True)))
        for row in itertools.product(*texts)
    )


def _spans(inside: str) -> list[_Span]:
    return [_span(part.strip()) for part in inside.split(",")]


def _span(part: str) -> _Span:
    if match := _NUMBERS.fullmatch(part):
        return _numbers(match.group(1), match.group(2) or match.group(1))
    if match := _LETTERS.fullmatch(part):
        ends = [one for one in match.groups() if one]
        return _counting_up(_Span(ord(ends[0]), ord(ends[-1]), None), part)
    raise ValueError("numbers or letters in brackets: [01-16], [1-3,7], [a-c]")


def _numbers(first: str, last: str) -> _Span:
    """Zero padding is kept, so both ends must have it alike: [08-12] and [8-12], not [08-112]."""
    padded = (first[0] == "0" and len(first) > 1) or (last[0] == "0" and len(last) > 1)
    if padded and len(first) != len(last):
        raise ValueError(f"both ends with as many digits: [{first.zfill(len(last))}-{last.zfill(len(first))}]")
    return _counting_up(_Span(int(first), int(last), len(first) if padded else 1), f"{first}-{last}")


def _counting_up(span: _Span, part: str) -> _Span:
    if span.last < span.first:
        raise ValueError(f"a range that counts up, not {part}")
    return span


def fold(names: Sequence[str]) -> str:
    """The same names shortly, as a selection reads them: `gpu[01-16],login`, in the order of first appearance."""
    split = {name: _LAST_NUMBER.fullmatch(name) for name in names}
    numbered = {name: found for name, found in split.items() if found and len(found[2]) <= _MOST_DIGITS}
    padded = {(f[1], f[3], len(f[2])) for f in numbered.values() if f[2].startswith("0") and len(f[2]) > 1}
    groups: dict[tuple[str, str, int] | str, list[int]] = {}
    for name in split:
        if (found := numbered.get(name)) is None:
            groups[name] = []
            continue
        key = (found[1], found[3], len(found[2]))
        # Without leading zeros, numbers of any length go together: 9, 10, 11.
        groups.setdefault(key if key in padded else (*key[:2], 0), []).append(int(found[2]))
    return ",".join(key if isinstance(key, str) else _folded(key, numbers) for key, numbers in groups.items())


def _folded(key: tuple[str, str, int], numbers: Sequence[int]) -> str:
    before, after, width = key
    ordered = sorted(numbers)
    ends = [at for at in range(1, len(ordered)) if ordered[at] != ordered[at - 1] + 1]
    runs = [ordered[a:b] for a, b in itertools.pairwise([0, *ends, len(ordered)])]
    parts = [f"{run[0]:0{width}}" if len(run) == 1 else f"{run[0]:0{width}}-{run[-1]:0{width}}" for run in runs]
    if len(ordered) == 1:
        return f"{before}{parts[0]}{after}"
    return f"{before}[{','.join(parts)}]{after}"
