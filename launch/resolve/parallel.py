"""Sizes of the parallel dimensions, and the options that say them, for everything but prefill/decode pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.resolve.lookup import by_generation, number
from launch.resolve.words import value_of_last

if TYPE_CHECKING:
    from launch.resolve.case import Case

TENSOR, DATA, LOCAL = "--tensor-parallel-size", "--data-parallel-size", "--data-parallel-size-local"


def size_on_node(case: Case) -> int:
    """The tensor size of `single_node_tp`; of every other strategy on one node the GPU count.

    The variant's, else the strategy override's own figure (at most the GPU count, but a CPU profile's count is no
    limit); else one GPU when the weights fit it, otherwise all of the node.
    """
    if case.strategy_name != "single_node_tp":
        return case.gpus
    for value in (case.variant.tp, case.override.tp):
        size = number(value, case.hardware, case.profile)
        if size is not None and size > 0:
            return int(size) if case.profile.kind == "cpu" else min(int(size), case.gpus)
    needed, there = case.variant.vram_minimum_gb, case.profile.vram_gb
    fits_one = bool(needed and there) and (needed or 0) <= (there or 0) / case.gpus
    return 1 if fits_one else case.gpus


def words(case: Case, rank: int, head: str) -> list[str]:
    """The options of one node. `head` is the address of the node of rank 0, or the placeholder for it."""
    flag = case.strategy.parallel_flag or TENSOR
    if not case.spans_nodes:
        return [flag, str(size_on_node(case))]
    gpus, nodes = case.gpus, case.node_count
    if flag == DATA:
        return _data_parallel(case, rank, head)
    if case.strategy.parallelism == "tp_dp":
        words = [TENSOR, str(gpus), DATA, str(nodes), LOCAL, "1", "--data-parallel-address", head]
        return [*words, "--data-parallel-start-rank", str(rank)] if rank else words
    sizes = [TENSOR, str(gpus * nodes)]
    if case.strategy.parallelism == "tp_pp":
        sizes = [TENSOR, str(gpus), "--pipeline-parallel-size", str(nodes)]
    joined = [*sizes, "--nnodes", str(nodes), "--node-rank", str(rank), "--master-addr", head]
    return [*joined, "--headless"] if rank else joined


def is_headless(case: Case, rank: int) -> bool:
    """Whether this node of a data-parallel layout has no endpoint of its own."""
    return bool(rank) and case.spans_nodes and case.strategy.bringup.load_balancing == "internal"


def _data_parallel(case: Case, rank: int, head: str) -> list[str]:
    words = [DATA, str(case.gpus * case.node_count), LOCAL, str(case.gpus), "--data-parallel-address", head]
    if not rank:
        return words
    words += ["--data-parallel-start-rank", str(rank * local_ranks(case))]
    return [*words, "--headless"] if is_headless(case, rank) else words


def local_ranks(case: Case) -> int:
    """Ranks of a node as the strategy's override restates them, else one per GPU."""
    override, profile = case.override, case.profile
    layers = [override.vllm_args, override.extra_args]
    for block in (by_generation(override.hardware_overrides, profile), override.hardware_overrides.get(case.hardware)):
        layers += [block.extra_args] if block else []
    restated = value_of_last([word for layer in layers for word in layer], LOCAL)
    return int(restated) if restated and restated.isdigit() else case.gpus
