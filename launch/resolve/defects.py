"""Where the public catalogue's own builder, or its data, does what looks wrong; what is done here instead.

The marks are those of `docs/reference/recipes.md`. A defect of the data that cannot be repaired without knowing what
was meant is only said.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from launch.resolve import docker, pools
from launch.resolve.case import ROLES
from launch.resolve.result import Defect
from launch.resolve.words import is_flag_with_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from launch.resolve.case import Case
    from launch.resolve.result import NodeCommand

SIZES = ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size")


def defects_of(case: Case, processes: Sequence[NodeCommand]) -> Iterator[Defect]:
    yield from _features(case)
    yield from _image(case)
    yield from _words(case)
    if case.is_pd:
        yield from _pools(case, processes)
    else:
        nodes = case.node_count if case.spans_nodes else 1
        yield from _sizes(case, processes[0], case.gpus * nodes, f"{nodes} node(s) have")
    if case.node_count > 1 and case.strategy.deploy_type == "single_node":
        what = f"{case.strategy_name} is for one node: one process is rendered, {case.node_count} nodes were asked for"
        yield Defect("single_node_with_node_count_gt1", what)


def _features(case: Case) -> Iterator[Defect]:
    for name in case.features:
        feature = case.recipe.features.get(name)
        verdicts = feature.hardware if feature and feature.modes is None else {}
        if "unsupported" in (verdicts.get(case.profile.kind), verdicts.get(case.hardware)):
            what = f"{name} is unsupported on {case.hardware}: left out; the catalogue's builder would add it"
            yield Defect("feature_hardware_gate_ignored", what)


def _image(case: Case) -> Iterator[Defect]:
    if docker.is_command(case):
        what = "the recipe has a docker command where an image belongs: its last word is taken for the image"
        yield Defect("image_has_docker_pull", what)
    if docker.image_of(case) is not None:
        return
    if docker.brand_of(case.profile) == "huawei":
        what = "no image is pinned for Huawei: an NVIDIA image cannot use its devices"
        yield Defect("huawei_treated_as_nvidia_docker", what)
    else:
        yield Defect("image_undefined", "no nightly image for Intel CPUs is known, and none is pinned")


def _words(case: Case) -> Iterator[Defect]:
    for words in (case.recipe.model.base_args, case.variant.extra_args, *case.override_args()):
        for word in words:
            if is_flag_with_value(word):
                yield Defect("flag_token_with_space", f"{word!r} is a flag and its value in one word: split in two")


def _pools(case: Case, processes: Sequence[NodeCommand]) -> Iterator[Defect]:
    for role in ROLES:
        layout = pools.layout(case, role)
        first = next(one for one in processes if one.role == role)
        yield from _sizes(case, first, max(1, layout.pool_gpus), f"the {role} pool has")
        if layout.nodes == 0 and layout.parallelism == "dep":
            what = f"{role} has half of the node: {layout.dp_local} ranks, not one for each GPU of the node"
            yield Defect("pd_colocated_dep_counts_whole_node", what)
        tensor = pools.tensor_of(case, role) or 1
        if layout.pool_gpus == 0 or (layout.parallelism == "dep" and tensor > case.gpus):
            what = f"{role}: a rank needs {tensor} GPUs, there are {min(layout.pool_gpus, case.gpus)}"
            yield Defect("gpu_fractional", what)
        declared = case.role(role).parallelism
        wanted = case.pools[role].parallelism if role in case.pools else None
        if wanted is None and declared is not None and declared != layout.parallelism:
            what = f"{role} asks for {declared}, which is not offered: {layout.parallelism} everywhere"
            yield Defect("pd_pool_modes_not_snapped_in_meta", what)


def _sizes(case: Case, process: NodeCommand, there: int, who: str) -> Iterator[Defect]:
    """The sizes of a command against the GPUs that it has."""
    words = process.argv
    sizes = [words[words.index(flag) + 1] for flag in SIZES if flag in words]
    needed = prod(int(size) for size in sizes if size.isdigit())
    if case.profile.kind != "cpu" and needed > there:
        yield Defect("gpu_overcommit", f"the sizes {' x '.join(sizes)} need {needed} GPUs, {who} {there}")
