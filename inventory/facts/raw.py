"""What a host answered, word for word: facts are read from it now, or from a saved copy at any later time."""

from __future__ import annotations

from dataclasses import dataclass

from inventory.facts.answers import Answers
from inventory.facts.bundle import read_answers
from inventory.facts.host import HostFacts


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """`noise`: what the login printed around the answer. Times are the control machine's, seconds since 1970."""

    host: str
    answers: Answers
    noise: bytes
    seconds: float
    sent_at: float
    received_at: float

    def facts(self) -> HostFacts:
        """Every fact, or why it is unknown. Never raises."""
        return read_answers(
            self.answers,
            host=self.host,
            noise=self.noise,
            seconds=self.seconds,
            sent_at=self.sent_at,
            received_at=self.received_at,
        )
