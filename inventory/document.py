"""A file of data that remembers where each value stands, so that errors say file:line:col."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from inventory.errors import BadInput, BringupError, raise_all
from inventory.quoting import quote

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import TypeAdapter

T = TypeVar("T")

_LONGEST = 500

Where: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the top of a document to one value."""

At: TypeAlias = tuple[int, int]
"""Line and column, both from 0."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value and its key stand; `raw` is a scalar as written, `plain` without quotes, `wrong` told already."""

    value: At
    key: At
    raw: str | None = None
    plain: bool = False
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """`data`: dicts with text keys, lists, text, numbers, booleans, None. `name`: the file as errors show it.

    `errors`: what is wrong already as YAML; raised with the rest by `validate`, or by `checked`.
    """

    name: str
    data: Any
    marks: Mapping[Where, Mark]
    errors: tuple[BringupError, ...] = ()

    def checked(self) -> Document:
        """This document, or its errors raised."""
        raise_all(list(self.errors))
        return self

    def validate(self, model: type[T], *, tolerate_unknown: bool = False) -> T:
        """Make a `model` of the data, strictly; raises all that is wrong as `BadInput` or `Several`."""
        from pydantic import ValidationError

        from inventory.explain import explain

        adapter = _adapter(model)
        data = {} if self.data is None and not self.marks else self.data
        problems: list[BringupError] = []
        try:
            result = adapter.validate_json(json.dumps(data), strict=True, extra="ignore" if tolerate_unknown else None)
        except ValidationError as error:
            problems = explain(self, error, model)
        raise_all([*self.errors, *problems])
        return result

    def error(self, where: Where, message: str, *, observed: str, required: str, key: bool = False) -> BadInput:
        """An error about the value at `where`, or about its `key`."""
        mark = self.marks.get(where)
        at = None if mark is None else mark.key if key else mark.value
        return bad(self.name, at, message, observed, required)


_adapters: dict[type, Any] = {}


def _adapter(model: type[T]) -> TypeAdapter[T]:
    """What validates: made once for each model, because making it costs more than most documents."""
    from pydantic import TypeAdapter

    if model not in _adapters:
        _adapters[model] = TypeAdapter(model)
    found: TypeAdapter[T] = _adapters[model]
    return found


def short(text: str, longest: int = 60) -> str:
    """At most one line of printable text, whatever the file holds."""
    clean = "".join(one if one.isprintable() else "?" for one in text[: longest + 1])
    return clean if len(clean) <= longest else f"{clean[:longest]}..."


def bad(
    name: str | Path,
    at: At | None,
    message: str,
    observed: str,
    required: str,
    *,
    id: str = "yaml-file",  # noqa: A002  (the word of `BringupError`)
) -> BadInput:
    """A `BadInput` about a place in a file; the next command opens an editor there."""
    line, column = (at[0] + 1, at[1] + 1) if at else (1, 1)
    place = f"{name}:{line}:{column}" if at else str(name)
    return BadInput(
        short(f"{place}: {message}", _LONGEST),
        id=id,
        observed=short(observed, _LONGEST),
        required=short(required, _LONGEST),
        next_command=f"${{EDITOR:-vi}} +{line} {quote(str(name))}",
    )
