"""A command that nothing else describes: shown as `run`, never as `ok`; what it makes says whether it is needed."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from inventory.quoting import quote, quote_all
from playbooks.entry import At, Entry, FilePath, Text, matching
from playbooks.plan import Action, Phase, Step

Words = Annotated[tuple[Text, ...], Field(min_length=1)]
Variable = Annotated[str, matching(r"[A-Za-z_][A-Za-z0-9_]*", "the name of a variable")]


class Command(Entry):
    """Words, never a line for a shell. `creates`: a path; `unless`: words that succeed where nothing is to do."""

    PHASE: ClassVar[Phase] = Phase.CONFIGURE
    kind: Literal["command"]
    run: Words
    creates: FilePath | None = None
    unless: Words | None = None
    env: dict[Variable, Text] = Field(default_factory=dict)
    folder: FilePath = "/"
    seconds: Annotated[int, Field(ge=1, le=86400)] = 300

    @model_validator(mode="after")
    def _knows_when(self) -> Command:
        if (self.creates is None) == (self.unless is None):
            raise ValueError("one of `creates` and `unless`: a command must tell whether it is needed")
        return self

    def step(self, at: At) -> Step:
        if self.creates is not None:
            met = f"[ -e {quote(self.creates)} ]"
        else:
            met = f"{quote_all(self.unless or ())} >/dev/null 2>&1 </dev/null"
        sets = "".join(f"export {name}={quote(value)}\n" for name, value in self.env.items())
        return self.made(
            at,
            probe=f"if {met}; then printf met; else printf 'not met'; fi",
            wanted="met",
            script=f"cd -- {quote(self.folder)}\n{sets}{quote_all(self.run)} </dev/null\n",
            summary=f"run {quote_all(self.run)}",
            action=Action.RUN,
            deadline_s=float(self.seconds),
        )
