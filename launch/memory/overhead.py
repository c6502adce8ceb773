"""What a GPU holds beside weights and cache: activations, CUDA graphs, CUDA and NCCL themselves. Pure.

vLLM measures these at every start (`determine_available_memory` of its workers); nothing states them beforehand. What
follows from the widths of the model is estimated and says so; the rest stays unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.memory.architecture import Architecture
    from launch.memory.settings import Parallel, Settings

ACTIVATIONS = "activations: at least, from the model's widths: a step's tokens through one layer, and its logits"
GRAPHS = "CUDA graphs: vLLM measures them at the start; no source gives them for this model"
RUNTIME = "CUDA context, NCCL and kernel workspaces: measured at the start only"
STREAMS = 4
"""Tensors of a step's tokens x hidden size that live at once: the residual, its norm, input and output of a layer."""


def activations(
    architecture: Architecture, parallel: Parallel, settings: Settings, gpu_bytes: int | None
) -> int | None:
    """A lower bound of the peak of vLLM's profile run; None without hidden size and vocabulary.

    The profile run sends `max_num_batched_tokens` tokens through the model, and samples for `max_num_seqs` sequences:
    logits in float32, gathered over the tensor-parallel group, and a copy of them.
    """
    if architecture.hidden is None or architecture.vocabulary is None:
        return None
    tokens = settings.batched_tokens(gpu_bytes)
    stream = tokens * architecture.hidden * 2
    experts = architecture.experts
    routed = 0 if experts is None else tokens * 2 * experts.width * 2 // parallel.tensor
    logits = min(settings.sequences(gpu_bytes), tokens) * architecture.vocabulary * 4
    return max(STREAMS * stream + routed, 2 * logits)


def graphs(settings: Settings) -> int | None:
    """None: unknown. Without graphs there is nothing to hold."""
    return 0 if settings.eager else None
