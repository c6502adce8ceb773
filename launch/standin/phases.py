"""How long each phase takes.

`BRINGUP_STANDIN_SPEED` divides all durations (0.1 is ten times slower); `BRINGUP_STANDIN_PHASES=load=30,stop=2` sets
single ones in seconds, whatever the speed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

SPEED, PHASES = "BRINGUP_STANDIN_SPEED", "BRINGUP_STANDIN_PHASES"
DEFAULTS = MappingProxyType(
    {
        "config": 0.05,  # main process: options -> engine configuration
        "device": 0.05,  # worker: device and process groups
        "load": 0.30,  # worker: weights
        "compile": 0.15,
        "profile": 0.05,
        "autotune": 0.05,  # kernels of experts
        "capture": 0.15,  # graphs
        "token": 0.002,  # one token of an answer
        "after_ready": 0.3,  # until a failure that strikes after the start
        "dead_linger": 0.5,  # an API server whose engine is dead (real: about 4 s)
        "stop": 0.1,  # an engine that is asked to stop (real: 1 to 3 s)
        "stop_headless": 0.3,  # the same on a headless node (real: 5 to 12 s)
    }
)
# Waiting times of vLLM that stay as they are at any speed.
FIXED = MappingProxyType({"ready_log": 10.0})


class Pace:
    """The durations of one process."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.speed = positive(SPEED, env.get(SPEED, "1"))
        self.set = dict(self.read(env.get(PHASES, "")))

    @staticmethod
    def read(text: str) -> list[tuple[str, float]]:
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        return [(known(name.strip()), positive(f"{PHASES} {name}", value)) for name, _, value in pairs]

    def seconds(self, phase: str) -> float:
        if phase in self.set:
            return self.set[phase]
        return FIXED[phase] if phase in FIXED else DEFAULTS[phase] / self.speed

    async def take(self, phase: str, share: float = 1.0) -> None:
        """Let `share` of the phase pass."""
        await asyncio.sleep(self.seconds(phase) * share)


def known(name: str) -> str:
    if name not in DEFAULTS and name not in FIXED:
        raise SystemExit(f"{PHASES}: no phase {name!r}; there are {', '.join([*DEFAULTS, *FIXED])}")
    return name


def positive(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf") or (name == SPEED and value == 0):
        raise SystemExit(f"{name}: {text!r} is not a positive number")
    return value
