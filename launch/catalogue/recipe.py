"""Recipes: which model, as which variants, with which arguments and environment on which hardware.

The schema is that of the public catalogue vllm-project/recipes, so that any checkout of it can be used. What it does
not have and we need is in one more mapping, `bringup:` (see `launch/catalogue/extra.py`). Keys that are null count as
absent; an empty mapping counts as present and so replaces what it stands for.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from launch.catalogue.extra import Bringup

if TYPE_CHECKING:
    from collections.abc import Mapping


def as_text(value: object) -> object:
    """A scalar of YAML as a word of a command line; null is the empty word, which is dropped later."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return format(Decimal(repr(value)).normalize(), "f")
    return "" if value is None else str(value) if isinstance(value, int) else value


Text: TypeAlias = Annotated[str, BeforeValidator(as_text)]
Args: TypeAlias = tuple[Text, ...]
Env: TypeAlias = dict[str, Text]
Count: TypeAlias = int | float | dict[str, int | float]
"""A number for all hardware, or one for each hardware id, generation, brand or `default`."""
Images: TypeAlias = str | dict[str, str | dict[str, str]]
"""One image; or one for each CUDA build; or one (or such a map) for each brand."""
Free: TypeAlias = Any
"""For people or for a web site: nothing here reads it."""


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class Block(Strict):
    """What one hardware adds to or changes in the command."""

    extra_args: Args = ()
    extra_env: Env = Field(default_factory=dict)
    docker_image: Images | None = None
    install: Free = None
    install_note: Free = None


class FeatureBlock(Strict):
    """Replaces a feature's or mode's own arguments on one hardware; None: leaves them."""

    args: Args | None = None
    env: Env | None = None


class Companion(Strict):
    """A helper process that runs beside the server."""

    command: str
    label: Text = ""
    description: Text = ""


class Mode(Strict):
    """One of the exclusive ways to have a feature."""

    args: Args = ()
    env: Env = Field(default_factory=dict)
    variants: tuple[str, ...] = ()
    hardware: dict[str, str] = Field(default_factory=dict)
    hardware_overrides: dict[str, FeatureBlock] = Field(default_factory=dict)
    label: Free = None
    description: Free = None


class Feature(Strict):
    """Something that can be switched on: tool calling, reasoning, speculative decoding."""

    args: Args = ()
    env: Env = Field(default_factory=dict)
    modes: dict[str, Mode] | None = None
    default_mode: str | None = None
    strategies: tuple[str, ...] = ()
    hardware: dict[str, str] = Field(default_factory=dict)
    hardware_overrides: dict[str, FeatureBlock] = Field(default_factory=dict)
    companion: Companion | None = None
    label: Free = None
    description: Free = None


class PrecisionHardware(Strict):
    brand: str | None = None
    generation: str | None = None


class Variant(Strict):
    """One checkpoint of the model. `vram_minimum_gb`: GB of GPU memory that just load it (1.2 x checkpoint)."""

    model_id: str | None = None
    precision: str | None = None
    precision_hardware: PrecisionHardware | None = None
    supported_hardware: tuple[str, ...] = ()
    vram_minimum_gb: int | float | None = None
    tp: Count | None = None
    extra_args: Args = ()
    extra_env: Env = Field(default_factory=dict)
    hardware_overrides: dict[str, Block] = Field(default_factory=dict)
    default_modes: dict[str, str] = Field(default_factory=dict)
    docker_image: Images | None = None
    min_vllm_version: Text = ""
    nightly_required: bool = False
    label: Free = None
    description: Free = None


class Role(Strict):
    """The prefill or the decode pool of a `pd_cluster` strategy, as a recipe changes it."""

    parallelism: str | None = None
    parallel_flag: str | None = None
    nodes: Count | None = None
    tp: int | None = None
    extra_args: Args = ()
    vllm_args: Args = ()
    env: Env = Field(default_factory=dict)
    extra_env: Env = Field(default_factory=dict)
    hardware_overrides: dict[str, Block] = Field(default_factory=dict)


class RouterOverride(Strict):
    intra_node_data_parallel_size: int | None = None


class StrategyOverride(Strict):
    """What a recipe changes in one strategy."""

    tp: Count | None = None
    extra_args: Args = ()
    vllm_args: Args = ()
    env: Env = Field(default_factory=dict)
    extra_env: Env = Field(default_factory=dict)
    hardware_overrides: dict[str, Block] = Field(default_factory=dict)
    prefill: Role | None = None
    decode: Role | None = None
    router: RouterOverride | None = None
    pool_modes: tuple[str, ...] = ()


class Tab(Strict):
    """How to install by pip or docker, where the usual way does not do."""

    command: str | None = None
    note: Free = None


class Model(Strict):
    model_id: str | None = None
    min_vllm_version: Text = ""
    architecture: Free = None
    parameter_count: Free = None
    active_parameters: Free = None
    context_length: Free = None
    base_args: Args = ()
    base_env: Env = Field(default_factory=dict)
    docker_image: Images | None = None
    docker_source: Free = None
    install: dict[str, bool | Tab | None] = Field(default_factory=dict)
    nightly_required: bool = False
    supports_dcp: bool = False
    flashinfer_autotune: bool = False


class Meta(Strict):
    title: Free = None
    slug: Free = None
    provider: Free = None
    description: Free = None
    date_added: Free = None
    date_updated: Free = None
    difficulty: Free = None
    related_recipes: Free = None
    performance_headline: Free = None
    tasks: tuple[str, ...] = ()
    hardware: dict[str, str] = Field(default_factory=dict)
    default_hardware: str | None = None


class OmniTaskBlock(Strict):
    """What one hardware changes in a task: its arguments are added, all else replaces."""

    label: Free = None
    endpoint: Free = None
    model_id: str | None = None
    vram_minimum_gb: int | float | None = None
    description: Free = None
    curl: Free = None
    extra_args: Args = ()


class OmniTask(OmniTaskBlock):
    id: str
    key: str | None = None
    axes: Free = None
    hardware_overrides: dict[str, OmniTaskBlock] = Field(default_factory=dict)


class Omni(Strict):
    """Generation of images, video and sound: tasks instead of strategies."""

    tasks: tuple[str | OmniTask, ...] = ()
    port: int | None = None
    serve_binary: str | None = None
    task_axes: Free = None
    task_hint: Free = None
    task_label: Free = None
    variant_hint: Free = None
    variant_label: Free = None


class Dependency(Strict):
    command: str
    note: Free = None
    optional: bool = False
    brand: str | tuple[str, ...] | None = None
    install_modes: tuple[str, ...] | None = None


class AdvancedOption(Strict):
    id: str
    args: Args = ()
    label: Free = None
    description: Free = None


class Recipe(Strict):
    """One model. Its id is the path of its file without suffix (`org/name`), not `model.model_id`."""

    meta: Meta = Field(default_factory=Meta)
    model: Model = Field(default_factory=Model)
    variants: dict[str, Variant] = Field(default_factory=dict)
    features: dict[str, Feature] = Field(default_factory=dict)
    opt_in_features: tuple[str, ...] = ()
    hardware_opt_in_features: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    compatible_strategies: tuple[str, ...] = ()
    default_strategy: str | None = None
    strategy_hardware: dict[str, dict[str, str]] = Field(default_factory=dict)
    strategy_min_gpus: int | dict[str, int | dict[str, int]] | None = None
    strategy_overrides: dict[str, StrategyOverride] = Field(default_factory=dict)
    hardware_overrides: dict[str, Block] = Field(default_factory=dict)
    kv_offload_support: dict[str, str] = Field(default_factory=dict)
    kv_cache_strategy_hardware: dict[str, dict[str, str]] = Field(default_factory=dict)
    dependencies: tuple[Dependency, ...] = ()
    advanced_options: tuple[AdvancedOption, ...] = ()
    omni: Omni | None = None
    guide: Free = None
    hardware_notes: Free = None
    bringup: Bringup = Field(default_factory=Bringup)

    def variant(self, key: str) -> Variant:
        """The variant of this key; of an unknown key the default's data, as the public catalogue does."""
        return self.variants.get(key) or self.variants.get("default") or Variant()

    def model_id(self, key: str) -> str:
        """The repository that `vllm serve` is given for this variant."""
        return self.variant(key).model_id or self.model.model_id or "unknown"


def mode_errors(recipe: Recipe) -> Mapping[tuple[str, ...], str]:
    """What is wrong with the modes of features, by the place in the file (the catalogue's own validation)."""
    found: dict[tuple[str, ...], str] = {}
    for name, feature in recipe.features.items():
        where = ("features", name)
        if feature.modes is None:
            continue
        if not feature.modes:
            found[*where, "modes"] = "no mode is declared"
        if feature.args:
            found[*where, "args"] = "a feature has either args or modes"
        if feature.default_mode is not None and feature.default_mode not in feature.modes:
            found[*where, "default_mode"] = f"no mode is called {feature.default_mode}"
        found |= _variants_of_modes(recipe, name, feature.modes)
    return found


def _variants_of_modes(recipe: Recipe, name: str, modes: Mapping[str, Mode]) -> dict[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for key, mode in modes.items():
        unknown = [one for one in mode.variants if one not in recipe.variants]
        if unknown:
            found["features", name, "modes", key, "variants"] = f"no variant is called {unknown[0]}"
    for key, variant in recipe.variants.items():
        wanted = variant.default_modes.get(name)
        if wanted is not None and wanted not in modes:
            found["variants", key, "default_modes", name] = f"{name} has no mode {wanted}"
        if modes and not any(not mode.variants or key in mode.variants for mode in modes.values()):
            found["features", name, "modes"] = f"the variant {key} has no mode left"
    return found
