"""What of a model decides its memory: its layers' caches, its experts, its widths. Data, one file a model.

A number that no source gives is absent, and what needs it is then unknown. A number that is not simply found in a
source is a mapping `{value, status, source}`; `doubts` keeps these by their place in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from inventory.errors import BadInput
from inventory.yamlfile import read_plain

FOLDER = Path(__file__).parent / "architectures"
Count: TypeAlias = Annotated[int, Field(gt=0, le=10**9)]


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class Heads(Strict):
    """Keys and values by head: MHA, GQA and MQA differ in `kv_heads` alone. `window`: only the last tokens are kept."""

    kind: Literal["heads"]
    layers: Count
    kv_heads: Count
    head_size: Count
    window: Count | None = None


class Records(Strict):
    """One record for each `tokens_per_state` tokens, whole on every GPU of a tensor-parallel group.

    Latents (MLA), index keys, compressed states. `bytes_by_dtype`: of one record; a cache that no dtype changes has
    one entry. `role` says which option picks it. `page_multiple`: a page's bytes are rounded up to it.
    """

    kind: Literal["records"]
    what: str
    layers: Count
    bytes_by_dtype: Mapping[str, Count]
    role: Literal["cache", "index"] = "cache"
    tokens_per_state: Count = 1
    page_multiple: Count = 1
    block: Count | None = None  # its own, whatever the others have
    window: Count | None = None
    ring: bool = False  # one page for each request
    sharded: bool = True


class Delta(Strict):
    """A gated delta net (GDN) or Kimi delta attention (KDA): two states for each sequence, whatever its length."""

    kind: Literal["delta"]
    layers: Count
    key_heads: Count
    value_heads: Count
    key_size: Count
    value_size: Count
    kernel: Count
    recurrent_dtype: str = "float32"


Part: TypeAlias = Annotated[Heads | Records | Delta, Field(discriminator="kind")]


class Experts(Strict):
    """Routed experts: three matrices of `hidden` x `width` each. `hidden`: where it is not the model's."""

    count: Count
    layers: Count
    width: Count
    hidden: Count | None = None


class Architecture(Strict):
    """See the module. `caches`: complete, or `missing` says what is not in it and by that makes it a lower bound.

    `dense_bytes`: weights that are no routed expert, where they are better known than as the rest of the checkpoint.
    `becomes`: a KV dtype that is stored as another one on a generation of hardware. `packed`: see `pool.groups_of`.
    """

    model: str
    source: str
    layers: Count | None = None
    hidden: Count | None = None
    heads: Count | None = None
    vocabulary: Count | None = None
    context: Count | None = None
    dtype: str = "bfloat16"
    caches: tuple[Part, ...] = ()
    experts: Experts | None = None
    dense_bytes: Annotated[int, Field(gt=0)] | None = None
    becomes: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    packed: bool = False
    block: Count | None = None
    missing: tuple[str, ...] = ()


class Doubt(Strict):
    """A number that is not simply found: how it came about, and where."""

    value: Any
    status: Literal["found", "derived", "assumed"]
    source: str


@dataclass(frozen=True, slots=True)
class Known:
    """An architecture, and by place the numbers of it that are derived, assumed or contested."""

    architecture: Architecture
    doubts: Mapping[str, Doubt]


@cache
def load(name: str) -> Known:
    """The architecture in the file `name`. Raises `BadInput` when there is none or it is wrong."""
    path = FOLDER / f"{name}.yaml"
    if name not in names():
        raise BadInput(
            f"there is no architecture {name}",
            id="architecture-unknown",
            observed=f"bringup.architecture: {name}",
            required=f"one of {', '.join(names())}",
            next_command="set bringup.architecture in the recipe, or leave it out",
        )
    return read(read_plain(path), str(path))


@cache
def names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def read(data: object, where: str) -> Known:
    """Check plain data. Raises `BadInput`."""
    doubts: dict[str, Doubt] = {}
    try:
        plain = _without_doubts(data, "", doubts)
        return Known(_SCHEMA.validate_python(plain), doubts)
    except ValueError as error:
        raise BadInput(
            "the architecture of the model cannot be read",
            id="architecture-unreadable",
            observed=f"{where}: {error}",
            required="the numbers that launch/memory/architecture.py describes",
            next_command=f"correct {where}",
        ) from None


_SCHEMA: TypeAdapter[Architecture] = TypeAdapter(Architecture)
_DOUBT = {"value", "status", "source"}


def _without_doubts(data: object, place: str, doubts: dict[str, Doubt]) -> object:
    """Replace `{value, status, source}` by the value, and keep it in `doubts`."""
    if isinstance(data, dict):
        if set(data) == _DOUBT:
            doubts[place] = Doubt(**data)
            return data["value"]
        return {key: _without_doubts(value, _joined(place, str(key)), doubts) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_doubts(value, f"{place}[{at}]", doubts) for at, value in enumerate(data)]
    return data


def _joined(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def shown(known: Known) -> Iterator[str]:
    """A line for each number that is not simply found."""
    for place, doubt in known.doubts.items():
        yield f"{place} {doubt.value}: {doubt.status}, {doubt.source}"
