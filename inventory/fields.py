"""Which types, and so which keys, a pydantic model allows at a place of a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel


def keys_at(model: object, where: tuple[str | int, ...], data: object = None) -> set[str]:
    """All keys that the models possible at `where` know; of those that differ by a word, what `data` there says."""
    models = [one for one in types_at(model, where) if _is_model(one)]
    fitting = [one for one in models if _may_be(one, data)]
    return {field.alias or name for one in fitting or models for name, field in one.model_fields.items()}


def _may_be(model: type[BaseModel], data: object) -> bool:
    """Whether no field of `model` that must be one of some words is another one in `data`."""
    if not isinstance(data, Mapping):
        return True
    words = {name: field.annotation for name, field in model.model_fields.items() if field.is_required()}
    return all(
        data[name] in get_args(kind) for name, kind in words.items() if get_origin(kind) is Literal and name in data
    )


def types_at(model: object, where: tuple[str | int, ...]) -> list[Any]:
    """The types possible at `where`: several where a union is; none where the model ends."""
    types = list(_branches(model))
    for part in where:
        types = [branch for one in types for inner in _inside(one, part) for branch in _branches(inner)]
    return types


def _is_model(one: object) -> bool:
    return isinstance(one, type) and issubclass(one, BaseModel)


def _branches(one: Any) -> Iterator[Any]:  # noqa: ANN401  (annotations are of any type)
    if get_origin(one) is Annotated:
        yield from _branches(get_args(one)[0])
    elif get_origin(one) in {Union, UnionType}:
        for branch in get_args(one):
            yield from _branches(branch)
    else:
        yield one


def _inside(one: Any, part: str | int) -> Iterator[Any]:  # noqa: ANN401
    origin = get_origin(one)
    if _is_model(one):
        yield from (field.annotation for name, field in one.model_fields.items() if part in {name, field.alias})
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield get_args(one)[1]
    elif isinstance(origin, type) and issubclass(origin, (list, tuple, set, frozenset)):
        yield from (inner for inner in get_args(one) if inner is not ...)
