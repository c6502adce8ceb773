"""One entry of a playbook, as all kinds share it: what must be true, why, for which check, and where it counts.

A kind is a module `steps/<kind>.py` with a model that has the fields of its own and makes the `Step`. What it makes
depends on the fields alone, never on a host: so every host can be asked for all states in the round trip of its facts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from inventory.schema import Strict
from playbooks.plan import Phase, Step
from playbooks.repositories.source import Source
from playbooks.when import When

T = TypeVar("T")
VALUE = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")
"""A named value in a text: see `playbooks/values.py`."""


@cache
def shell(name: str) -> str:
    """The functions of steps/<name>.sh."""
    text = (Path(__file__).parent / "steps" / f"{name}.sh").read_text(encoding="utf-8")
    return text.partition("\n\n")[2]


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("text without NUL characters")
    return text


def _absolute(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError("an absolute path")
    return _no_nul(text)


def _scalar(value: object) -> object:
    return str(value) if type(value) is int else value


def matching(pattern: str, what: str) -> AfterValidator:
    """Text that is all of `pattern`; `what` is it in words. One with a value to be filled in is looked at then."""

    def check(text: str) -> str:
        if not VALUE.search(text) and not re.fullmatch(pattern, text):
            raise ValueError(what)
        return text

    return AfterValidator(check)


Text: TypeAlias = Annotated[str, AfterValidator(_no_nul)]
FilePath: TypeAlias = Annotated[str, AfterValidator(_absolute)]
Mode: TypeAlias = Annotated[str, matching("[0-7]{4}", "four octal digits: 0644")]
Account: TypeAlias = Annotated[
    str, BeforeValidator(_scalar), matching(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,31}", "a name of an account or its number")
]
Id: TypeAlias = Annotated[str, matching("[a-z0-9]+(-[a-z0-9]+)*", "lower-case words with - between them")]
Number: TypeAlias = Annotated[str, BeforeValidator(_scalar), AfterValidator(_no_nul)]
"""Text that YAML may have as a whole number."""


class At(Strict):
    """The playbook that an entry stands in, and what the inventory says of the host.

    `state_dir`: where bringup keeps its own records. `sources`: where packages come from, by the name of the mirror.
    """

    playbook: str
    state_dir: str
    sources: Mapping[str, Source] = {}

    def name(self, entry: str) -> str:
        return f"{self.playbook}/{entry}"


class Entry(Strict):
    """What every kind has. `follows`: ids of entries whose change may change this one's state too.

    `phase`: another one than the kind's own.
    """

    PHASE: ClassVar[Phase]

    id: Id
    why: Annotated[str, Field(min_length=1)]
    satisfies: tuple[str, ...] = ()
    when: When = When()
    phase: Phase | None = None
    follows: tuple[Id, ...] = ()

    def step(self, at: At) -> Step:
        """What must be true on a host, and how it becomes so."""
        raise NotImplementedError

    def made(self, at: At, **fields: Any) -> Step:  # noqa: ANN401  (those of `Step`)
        """A step with what the entry says; `fields` are the kind's own. All of it is root's business."""
        return Step(
            id=at.name(self.id),
            phase=self.phase or self.PHASE,
            why=self.why,
            follows=tuple(map(at.name, self.follows)),
            satisfies=self.satisfies,
            **{"sudo": True, "probe_sudo": True, **fields},
        )
