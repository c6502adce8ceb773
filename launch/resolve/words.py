"""Words of a command line: keeping the last of each flag, and printing for a shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inventory.quoting import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_BARE = re.compile(r"\$[A-Z0-9_]+|[A-Za-z0-9_./=:@,+%-]+")


def is_flag_with_value(word: str) -> bool:
    """`--max-model-len auto` as one word works when it is pasted into a shell and fails as an argument."""
    return bool(re.fullmatch(r"--?[A-Za-z][A-Za-z0-9_.-]*\s+\S.*", word))


def split_flags(words: Iterable[str]) -> Iterator[str]:
    """The words, a flag that came with its value in one of them apart from it."""
    for word in words:
        yield from word.split(None, 1) if is_flag_with_value(word) else (word,)


def groups(words: Iterable[str]) -> list[tuple[str, ...]]:
    """Split to flags with their value and single positionals. A flag takes the next word unless that is a flag too."""
    found: list[tuple[str, ...]] = []
    for word in filter(None, words):
        if found and len(found[-1]) == 1 and found[-1][0].startswith("-") and not word.startswith("-"):
            found[-1] = (found[-1][0], word)
        else:
            found.append((word,))
    return found


def last_of_each(words: Iterable[str]) -> tuple[str, ...]:
    """Keep the last of each literal flag, where it stands, and all positionals.

    As the public catalogue does it: aliases and `--x=1` are other flags, and of a flag with several values only the
    first belongs to it. What that leaves double, the pinned version's schema refuses.
    """
    listed = groups(words)
    last = {group[0]: index for index, group in enumerate(listed)}
    kept = (group for index, group in enumerate(listed) if not group[0].startswith("-") or last[group[0]] == index)
    return tuple(word for group in kept for word in group)


def without(words: Iterable[str], flag: str) -> tuple[str, ...]:
    """All words but a flag and its value."""
    return tuple(word for group in groups(words) if group[0] != flag for word in group)


def value_of_last(words: Sequence[str], flag: str) -> str | None:
    """The word behind the last `flag`, None when there is none."""
    at = [index for index, word in enumerate(words) if word == flag]
    return words[at[-1] + 1] if at and at[-1] + 1 < len(words) else None


def shown(argv: Sequence[str], binary: int = 2) -> str:
    """For a person to paste: a flag and its value on one line. Flags are never quoted, `$NAME` stays open.

    `binary`: how many words come before the model.
    """
    head, rest = " ".join(argv[: binary + 1]), argv[binary + 1 :]
    lines = [" ".join([group[0], *map(_quoted, group[1:])]) for group in groups(rest)]
    return " \\\n  ".join([head, *lines])


def _quoted(word: str) -> str:
    return word if _BARE.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'"


def shell_line(words: Iterable[str]) -> str:
    return " ".join(map(quote, words))
