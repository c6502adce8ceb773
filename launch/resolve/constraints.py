"""What a model does not bear, by its recipe's own `bringup.constraints`, asked of a rendered command. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.vllm_args.parse import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launch.catalogue.extra import Constraint
    from launch.resolve.gates import Place
    from launch.vllm_args.parse import Parsed

AUTO = -1  # vLLM takes what fits


@dataclass(frozen=True, slots=True)
class Unmet:
    """One constraint that a command does not meet."""

    observed: str
    required: str
    why: str
    source: str

    def __str__(self) -> str:
        return f"{self.observed}; needs {self.required}: {self.why} ({self.source})"


def unmet(place: Place, strategy: str, parsed: Parsed) -> Iterator[Unmet]:
    """Every constraint of the recipe that holds here and that `parsed`, a command for it, does not meet.

    An option that is not given counts with vLLM's default; without a default, it does not meet a bound.
    """
    for one in place.recipe.bringup.constraints:
        if not applies(one, place, strategy):
            continue
        for observed, required in _failures(one, parsed):
            yield Unmet(observed, required, one.why, one.source)


def applies(constraint: Constraint, place: Place, strategy: str) -> bool:
    hardware, variants, strategies = constraint.hardware, constraint.variants, constraint.strategies
    here = not hardware or place.hardware in hardware or place.profile.kind in hardware
    return here and (not variants or place.variant_key in variants) and (not strategies or strategy in strategies)


def _failures(constraint: Constraint, parsed: Parsed) -> Iterator[tuple[str, str]]:
    for flag, most in constraint.at_most.items():
        value = value_of(parsed, flag)
        if value is None or (value > most and value != AUTO):
            yield _shown(flag, value), f"{flag} {most} or less"
    for flag, least in constraint.at_least.items():
        value = value_of(parsed, flag)
        if value is None or value < least:
            yield _shown(flag, value), f"{flag} {least} or more"
    for flag in constraint.needs:
        if not parsed.get(_dest(parsed, flag)):
            yield f"no {flag}", flag
    if constraint.vllm is not None and parsed.version.partition("+")[0] != constraint.vllm:
        yield f"vLLM {parsed.version}", f"vLLM {constraint.vllm}"


def value_of(parsed: Parsed, flag: str) -> float | None:
    value = parsed.get(_dest(parsed, flag))
    return value if isinstance(value, int | float) else None


def _dest(parsed: Parsed, flag: str) -> str:
    return str(load(parsed.version)["flags"][flag])


def _shown(flag: str, value: float | None) -> str:
    return f"{flag} is not given" if value is None else f"{flag} {value}"
