"""Why something was decided, as a record: shown to the operator, kept in plans, compared between them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """`chosen` for `decision` by `rule`, which looked at `numbers` (name and value); `source` is where they stand.

    A source is a flag that was typed, a key of a recipe, a fact of a host, or a published text.
    """

    decision: str
    chosen: str
    rule: str
    numbers: tuple[tuple[str, str], ...] = ()
    source: str = ""

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} {value}" for name, value in self.numbers)
        parts = [self.rule, *([f"({numbers})"] if numbers else []), *([f"[{self.source}]"] if self.source else [])]
        return f"{self.decision} {self.chosen}: {' '.join(parts)}"
