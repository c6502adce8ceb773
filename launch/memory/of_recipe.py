"""From a recipe's choice to its memory: the architecture that it names, its variant's weights, a command. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from launch.memory.architecture import load
from launch.memory.from_config import of_config
from launch.memory.gpus import Gpu
from launch.memory.plan import predict
from launch.memory.settings import of_argv
from launch.memory.weights import GB, weights_of

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from launch.catalogue.recipe import Recipe
    from launch.choosing.decide import Decision
    from launch.memory.architecture import Known
    from launch.memory.plan import MemoryPlan
    from launch.memory.settings import Parallel, Settings
    from launch.memory.weights import Weights

FILES = "files of "
"""How a size of weights is named that was counted, not derived."""
LOADS = 1.2
"""`vram_minimum_gb` is the checkpoint's size times this, as the recipes' own schema defines it."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """A prediction with all that it was made from, so that it can be asked again with something changed.

    `lacking`: bytes that just load the weights by the recipe, and the fewer that there are as vendors state them.
    """

    known: Known
    weights: Weights | None
    parallel: Parallel
    settings: Settings
    gpu: Gpu
    plan: MemoryPlan
    lacking: tuple[int, int] | None = None

    @property
    def is_derived(self) -> bool:
        """Whether a figure behind it is not simply found: of the architecture, or the size of the weights."""
        return bool(self.known.doubts) or self.weights is None or not self.weights.source.startswith(FILES)

    @property
    def fits(self) -> bool | None:
        """None: a figure is missing, or it does not fit by figures that are derived, and these refuse nothing."""
        if self.lacking:
            return False
        return None if self.plan.fits is False and self.is_derived else self.plan.fits


def architecture_of(recipe: Recipe) -> Known | None:
    """The architecture that the recipe names, or of the tiny model that it makes; None: no source tells."""
    ours = recipe.bringup
    if ours.random is not None:
        from launch.tiny.make_weights import config

        return of_config(config(ours.random.kind), "launch/tiny/make_weights.py, which makes the model")
    return load(ours.architecture) if ours.architecture else None


def weights_of_variant(recipe: Recipe, variant: str, known: Known) -> Weights | None:
    """The weights of a variant by the size of its files, else by the memory that just loads it."""
    one, pinned = recipe.variant(variant), recipe.bringup.revisions.get(variant)
    if pinned is not None and pinned.checkpoint_gb:
        size, source = pinned.checkpoint_gb * GB, f"{FILES}{pinned.checkpoint_gb:g} GB (bringup.revisions)"
    elif one.vram_minimum_gb:
        size = one.vram_minimum_gb * GB / LOADS
        source = f"vram_minimum_gb {one.vram_minimum_gb:g} / {LOADS}, the size of the files as recipes define it"
    else:
        return weights_of(known.architecture, one.precision, None, "")
    return weights_of(known.architecture, one.precision, int(size), source)


def forecast(
    recipe: Recipe,
    variant: str,
    argv: Sequence[str],
    version: str,
    gpu: Gpu,
    *,
    context: int | None = None,
    known: Known | None = None,
) -> Forecast | None:
    """Predict what each GPU of a launch holds; None when nothing is known of the architecture.

    `argv`: the head's command, resolved or rendered. `gpu`: the smallest. `known`: another architecture than the
    recipe's, that of a model on disk.
    """
    known = known or architecture_of(recipe)
    if known is None:
        return None
    settings, parallel = of_argv(argv, version)
    weights = weights_of_variant(recipe, variant, known)
    plan = predict(
        known.architecture, weights, parallel, settings, gpu.bytes, context=context, generation=gpu.generation
    )
    return Forecast(known, weights, parallel, settings, gpu, plan)


def of_decision(
    decision: Decision, facts: Mapping[str, HostFacts], *, context: int | None = None, known: Known | None = None
) -> Forecast | None:
    """Predict a launch as it is decided for hosts, by the smallest of the GPUs that its ranks get."""
    choice, gpu = decision.choice, gpu_of(decision, facts)
    argv = decision.commands[0].argv
    return forecast(choice.found.recipe, choice.variant, argv, choice.vllm, gpu, context=context, known=known)


def gpu_of(decision: Decision, facts: Mapping[str, HostFacts]) -> Gpu:
    """The smallest planned GPU, by its driver; of unknown size where one of them does not tell its own."""
    choice = decision.choice
    kind = choice.found.library.profile(choice.hardware).kind
    sizes: list[int | None] = []
    for node in decision.placement.nodes:
        gpus = facts[node.host].gpus
        planned = {index for rank in node.ranks for index in rank.gpus}
        if is_known(gpus):
            sizes += [gpu.memory_bytes for gpu in gpus.devices if gpu.index in planned]
    told = [size for size in sizes if size is not None]
    return Gpu(min(told) if told and len(told) == len(sizes) else None, kind, "as the driver of the hosts reports it")
