"""The known failures: one table for `diagnose`, for a failed `deploy`, for docs/reference/failures.md and the runbooks.

Facts and patterns come from reports of operators and from the source of vLLM 0.33.0; `messages` are those that vLLM
itself, or what it is built of, prints.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from inventory.yamlfile import read

FOLDER = Path(__file__).parent / "failures"
FILES = ("hosts.yaml", "gpus.yaml", "network.yaml", "memory.yaml", "options.yaml", "ends.yaml")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_FIELD = re.compile(r"\{(\w+)\}")


class Role(StrEnum):
    """What a match can be. The first in this order that a capture has is the answer."""

    CAUSE = "cause"
    SYMPTOM = "symptom"  # something is stuck or ended, and its words do not tell why
    CONSEQUENCE = "consequence"  # of the end of another rank
    WRAPPER = "wrapper"  # only repeats that another process of the same host ended
    WAITING = "waiting"  # a rank waits for another process, which may be well
    NOTICE = "notice"  # slower, or nothing at all


class Failure(BaseModel):
    """One known failure. Patterns are Python's, searched in the messages of one log (`^` and `$` are of lines).

    `states`: what a command prints of it as it is now, which is looked for in outputs also where the kernel's word is
    not. `quiet`: it may stand in a line of level INFO. `last`: only as the last thing that a log says. `kernel`: by the
    kernel's own word, which beats any traceback of the same minute; `lasting`: also when it came before the start.
    `device`: an error of a device, or of what is taken down, which is a consequence behind the end of a peer; `remote`:
    its words that tell of a peer's end. `echo`: what the engine of the same host says of it at the same moment. `over`:
    more general failures that match the same lines; `general`: any cause near by says more. `says` is one sentence with
    `{host}` and named groups; a part in brackets is left out when a group of it has nothing. In `look` and `fix`, HOST,
    HOSTS, OTHERS (hosts), NAME and MODEL stand for the real ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    id: str = Field(pattern=r"^[FE]-[A-Z0-9]+(-[A-Z0-9]+)*$")
    title: str
    phase: str
    role: Role = Role.CAUSE
    patterns: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    echo: tuple[str, ...] = ()
    engine: dict[str, str] = Field(default_factory=dict)
    over: tuple[str, ...] = ()
    general: bool = False
    quiet: bool = False
    last: bool = False
    kernel: bool = False
    lasting: bool = False
    device: bool = False
    remote: str = ""
    retry: bool = False
    says: str
    cause: str
    look: tuple[str, ...]
    fix: tuple[str, ...]
    checks: tuple[str, ...] = ()

    @field_validator("patterns", "states", "echo", "over", "look", "fix", "checks", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("role", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        return Role(value) if isinstance(value, str) and value in set(Role) else value

    @cached_property
    def searches(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """The compiled patterns with the id of the engine's message that each is, or nothing; messages first."""
        ending = r"\s*\Z" if self.last else ""
        told = (*self.engine.items(), *(("", one) for one in self.patterns))
        found = ((message, re.compile(f"(?:{pattern}){ending}", re.MULTILINE)) for message, pattern in told)
        return (*found, *self.of_states)

    @cached_property
    def of_states(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """Those of `states` alone."""
        return tuple(("", re.compile(one, re.MULTILINE)) for one in self.states)

    def sentence(self, host: str, groups: dict[str, str]) -> str:
        values = {"host": host, **groups}

        def part(match: re.Match[str]) -> str:
            return match[1] if all(values.get(name) for name in _FIELD.findall(match[1])) else ""

        return _FIELD.sub(lambda match: values.get(match[1]) or "what it names", _OPTIONAL.sub(part, self.says))


@cache
def failures() -> tuple[Failure, ...]:
    """All known failures. Raises `BadInput` with file:line:col where the table is wrong."""
    return tuple(one for name in FILES for one in read(FOLDER / name, tuple[Failure, ...]))


@cache
def by_id() -> dict[str, Failure]:
    return {one.id: one for one in failures()}


@cache
def by_message() -> dict[str, tuple[str, ...]]:
    """The failures that each message of the engine stands in, by its id."""
    found: dict[str, tuple[str, ...]] = {}
    for one in failures():
        for message in one.engine:
            found[message] = (*found.get(message, ()), one.id)
    return found
