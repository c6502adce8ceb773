"""Bytes of weights on one GPU under TP, EP, DP and PP. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from launch.memory.dtypes import EXPERT_BITS

if TYPE_CHECKING:
    from launch.memory.architecture import Architecture
    from launch.memory.settings import Parallel

GB = 10**9


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of a checkpoint: all, and its routed experts (0: a dense model, None: not known). `source`: of both."""

    total: int
    experts: int | None
    source: str


def expert_bytes(architecture: Architecture, precision: str | None) -> int | None:
    """Bytes of all routed experts: three matrices each, in the variant's precision. None: not known; 0: none."""
    one = architecture.experts
    if one is None:
        return None if "experts" in architecture.missing else 0
    hidden, bits = one.hidden or architecture.hidden, EXPERT_BITS.get(precision or "")
    if hidden is None or bits is None:
        return None
    return ceil(one.count * one.layers * 3 * hidden * one.width * bits / 8)


def weights_of(
    architecture: Architecture, precision: str | None, checkpoint: int | None, source: str
) -> Weights | None:
    """The weights of a variant; None when neither the checkpoint's size nor what would replace it is known.

    `checkpoint`: bytes of its files. Experts that would be more than the whole are taken for unknown.
    """
    experts, dense = expert_bytes(architecture, precision), architecture.dense_bytes
    if dense is not None and experts is not None:
        return Weights(experts + dense, experts, "dimensions of the experts, and the rest by its dimensions")
    if checkpoint is None:
        return None
    if experts is not None and experts > checkpoint:
        return Weights(checkpoint, None, f"{source}; by their dimensions the experts alone would be {experts} bytes")
    return Weights(checkpoint, experts, source)


def per_gpu(weights: Weights, parallel: Parallel) -> int | None:
    """Bytes on the fullest GPU; None where it depends on what is not known.

    Every data-parallel rank has a copy of all that is no routed expert. What vLLM copies over a tensor-parallel group
    (norms, routers, the small projections of latents) counts as divided: the figure is a little low.
    """
    if weights.experts is None and parallel.data > 1:
        return None
    experts = weights.experts or 0
    dense = weights.total - experts
    return ceil(experts / (parallel.expert_size * parallel.pipeline)) + ceil(
        dense / (parallel.tensor * parallel.pipeline)
    )
