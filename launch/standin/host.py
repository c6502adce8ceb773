"""What all processes of one host know: made once by the main process, inherited by its forks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from launch.standin.argv import Options
from launch.standin.failures import Failures
from launch.standin.handshake import JOIN_TIMEOUT
from launch.standin.layout import Layout
from launch.standin.model import Model
from launch.standin.phases import Pace, positive

ENGINE_TIMEOUT, STORE_TIMEOUT = 300.0, 600.0  # vLLM's fixed five minutes; torch's store


@dataclass(frozen=True, slots=True)
class Host:
    version: str
    options: Options
    layout: Layout
    model: Model
    pace: Pace
    failures: Failures
    env: Mapping[str, str]

    def join_limit(self, default: float) -> float:
        """Seconds in which a follower must reach the head; `BRINGUP_STANDIN_JOIN_TIMEOUT_S` shortens it for tests."""
        return positive(JOIN_TIMEOUT, self.env[JOIN_TIMEOUT]) if self.env.get(JOIN_TIMEOUT) else default

    @property
    def step_limit(self) -> float:
        """Seconds that a step waits for its peers: gloo's time-out."""
        return float(self.options.number("cpu_distributed_timeout_seconds", 0) or 1800)
