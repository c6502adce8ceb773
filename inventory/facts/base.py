"""A fact or the reason why there is none: unknown is a third answer, never an empty list."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class Why(StrEnum):
    """Why a fact is unknown."""

    MISSING_TOOL = "missing-tool"
    REFUSED = "refused"
    EMPTY = "empty"
    TIMED_OUT = "timed-out"
    UNREADABLE = "unreadable"
    NOT_ASKED = "not-asked"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact that could not be read. `detail` quotes what was seen, at most a line."""

    why: Why
    detail: str = ""

    def __str__(self) -> str:
        return f"unknown ({self.why}{': ' + self.detail if self.detail else ''})"


NOT_ASKED = Unknown(Why.NOT_ASKED)
T = TypeVar("T")
Maybe: TypeAlias = T | Unknown


def is_known(fact: Maybe[T]) -> TypeIs[T]:
    """Tell a read fact from an `Unknown`, for the type checker too."""
    return not isinstance(fact, Unknown)
