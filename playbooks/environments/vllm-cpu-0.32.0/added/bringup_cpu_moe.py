"""A vLLM plugin for tests: what expert parallelism lacks in vLLM 0.32.0's CPU build.

Two collective operations with a share of its own for each rank, and the map from global experts to those of a rank.
It does nothing where `VLLM_PLUGINS` does not name it. Slow and simple: for trying layouts, not for serving anybody.
"""

# ruff: noqa: ANN401, INP001  (vLLM's types are not there where this is checked)

from __future__ import annotations

import os
from functools import wraps
from typing import Any

import torch  # type: ignore[import-not-found]
from torch import Tensor, distributed


def all_gatherv(self: Any, input_: Tensor | list[Tensor], dim: int = 0, sizes: list[int] | None = None) -> Any:
    """Concatenate the inputs of all ranks along dimension 0; rank i gives `sizes[i]` rows."""
    if dim != 0:
        raise NotImplementedError("only along dimension 0")
    if isinstance(input_, list):
        return [all_gatherv(self, one, dim, sizes) for one in input_]
    shares = sizes or [input_.shape[0]] * self.world_size
    padded = input_.new_zeros((max(shares), *input_.shape[1:]))
    padded[: input_.shape[0]] = input_
    pieces = [torch.empty_like(padded) for _ in shares]
    distributed.all_gather(pieces, padded, group=self.device_group)
    return torch.cat([piece[:share] for piece, share in zip(pieces, shares, strict=True)])


def reduce_scatterv(self: Any, input_: Tensor, dim: int = -1, sizes: list[int] | None = None) -> Tensor:
    """Sum the inputs of all ranks and return this rank's `sizes[rank]` rows of it."""
    rows = input_.movedim(dim, 0).contiguous().clone()
    shares = sizes or [rows.shape[0] // self.world_size] * self.world_size
    distributed.all_reduce(rows, group=self.device_group)
    begin = sum(shares[: self.rank_in_group])
    return rows[begin : begin + shares[self.rank_in_group]].movedim(0, dim).contiguous()


def with_expert_map(apply: Any) -> Any:
    """Let `apply` see its own experts only: another rank's have the weight zero here."""

    @wraps(apply)
    def mapped(self: Any, *args: Any, **kwargs: Any) -> None:
        expert_map = kwargs.get("expert_map")
        if expert_map is not None:
            local = expert_map.to(kwargs["topk_ids"].device)[kwargs["topk_ids"].long()]
            kwargs["topk_weights"] = kwargs["topk_weights"].masked_fill(local < 0, 0.0)
            kwargs["topk_ids"] = local.clamp(min=0).to(kwargs["topk_ids"].dtype)
        apply(self, *args, **kwargs)

    return mapped


def register() -> None:
    """The entry point: vLLM calls it in every process, and without `VLLM_PLUGINS` it calls all that are installed."""
    if "bringup_cpu_moe" not in os.environ.get("VLLM_PLUGINS", "").split(","):
        return
    from vllm.distributed.device_communicators.cpu_communicator import (  # type: ignore[import-not-found]
        CpuCommunicator,
    )
    from vllm.model_executor.layers.fused_moe.experts.cpu_moe import (  # type: ignore[import-not-found]
        CPUUnquantizedExperts,
    )

    CpuCommunicator.all_gatherv = all_gatherv
    CpuCommunicator.reduce_scatterv = reduce_scatterv
    if not hasattr(CPUUnquantizedExperts.apply, "__wrapped__"):
        CPUUnquantizedExperts.apply = with_expert_map(CPUUnquantizedExperts.apply)
