"""Why something was decided: the record that a plan keeps of each decision."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """One decision.

    `decision`: what was decided on ("speculative decoding", "pinning of tray1"). `chosen`: what came out. `rule`: what
    chose it, in one sentence. `numbers`: what the rule was applied to, name and value with its unit. `source`: where
    the rule or a contested figure comes from. `warns`: the operator should read it before going on.
    """

    decision: str
    chosen: str
    rule: str
    numbers: tuple[tuple[str, str], ...] = ()
    source: str = ""
    warns: bool = False

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} {value}" for name, value in self.numbers)
        return f"{self.decision}: {self.chosen}: {self.rule}" + (f" ({numbers})" if numbers else "")
