"""The only reader and writer of YAML: files of operators and of the project, and foreign ones as plain data.

Data only: no tags, every key once, bounded in size, depth and aliases. Of the traps of YAML 1.1, `022` (octal) and
`1:30` (sexagesimal) stay text here and `1e-5` is a number; `no`, `on` and the like are booleans as elsewhere, and
where text is wanted the error says so. All errors of a file are raised at once, each with file:line:col.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import yaml

from inventory.document import Document, Mark, bad
from inventory.errors import BadInput, BringupError
from inventory.yamltext import decode, plain_value, read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from inventory.document import At, Where

T = TypeVar("T")

MAX_DEPTH: Final = 64
MAX_NODES: Final = 100_000

_PLAIN, _TEXT, _COLLECTION = "plain", "text", "collection"


@dataclass(frozen=True, slots=True)
class Tagged:
    """A value with a tag (`!vault`) in a foreign file that was read with `keep_tags`; never interpreted."""

    tag: str
    text: str


def read(path: Path, model: type[T], *, tolerate_unknown: bool = False) -> T:
    """Read `path` as a `model` (pydantic, or any type it knows), strictly: "22" is not a number.

    An empty file is an empty mapping. `tolerate_unknown` ignores unknown keys: for schemas of others that grow.
    Raises `BadInput`, or `Several`, with the position of each wrong key and value.
    """
    return load(path).validate(model, tolerate_unknown=tolerate_unknown)


def read_plain(path: Path, *, keep_tags: bool = False) -> object:
    """Read a foreign file as dicts with text keys, lists, text, numbers, booleans and None.

    `keep_tags`: values with a tag become `Tagged` instead of an error.
    """
    return load(path, keep_tags=keep_tags).checked().data


def written(data: object) -> str:
    """YAML of plain data, for the files of other tools: keys in their order, quoted what could be read otherwise."""
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000))


def load(path: Path, *, keep_tags: bool = False) -> Document:
    """Read `path` as a document that knows its positions, for errors that only a later look finds."""
    return parse(read_bytes(path), str(path), keep_tags=keep_tags)


def parse(data: bytes, name: str, *, keep_tags: bool = False) -> Document:
    """Read YAML text; `name` is the file as errors show it."""
    node = _compose(decode(data, name), name)
    walk = _Walk(name, keep_tags=keep_tags)
    value = None if node is None else walk.value(node, ())
    return Document(name, value, walk.marks, tuple(walk.errors))


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Composes nodes only; `resolve` is asked for those without a tag, so any other tag was written."""

    def resolve(self, kind: type[yaml.Node], _value: object, implicit: Any) -> str:  # noqa: ANN401
        if kind is not yaml.ScalarNode:
            return _COLLECTION
        return _PLAIN if implicit[0] else _TEXT


def _compose(text: str, name: str) -> yaml.Node | None:
    try:
        _refuse_deep(text, name)
        return yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise _syntax(error, text, name) from None
    except yaml.reader.ReaderError as error:
        before = text.encode()[: error.position].decode(errors="ignore")
        at = (before.count("\n"), len(before) - (before.rfind("\n") + 1))
        raise bad(name, at, "a character that YAML forbids", str(error.reason), "printable text") from None


def _refuse_deep(text: str, name: str) -> None:
    """Before composing, which recurses: the parser's events come one by one."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise bad(name, _at(event), "nested too deep", f"over {MAX_DEPTH} levels", f"at most {MAX_DEPTH} levels")


def _syntax(error: yaml.MarkedYAMLError, text: str, name: str) -> BadInput:
    mark = error.problem_mark or error.context_mark
    at = (mark.line, mark.column) if mark else None
    lines = text.split("\n")
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())] or "\\t" in (error.problem or ""):
        return bad(name, at, "a tab where YAML wants spaces", "a tab", "spaces")
    if "single document" in (error.context or ""):
        return bad(name, at, "more than one YAML document", "a second ---", "one document a file")
    seen = ", ".join(part for part in (error.context, error.problem) if part)
    return bad(name, at, "this is not YAML", seen, "YAML")


class _Walk:
    """Turns nodes into plain data and remembers where each value stands; goes on after an error to find all."""

    def __init__(self, name: str, *, keep_tags: bool) -> None:
        self.name = name
        self.keep_tags = keep_tags
        self.marks: dict[Where, Mark] = {}
        self.errors: list[BringupError] = []
        self._nodes = 0
        self._merging = 0

    def value(self, node: yaml.Node, where: Where, key: At | None = None) -> object:
        self._refuse_bomb(node, len(where))
        at = _at(node)
        known = node.tag in {_PLAIN, _TEXT, _COLLECTION}
        self.marks[where] = Mark(at, key or at, wrong=not known)
        if not known:
            return self._tagged(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(one, (*where, index)) for index, one in enumerate(node.value)]
        self.marks[where] = Mark(at, key or at, node.value, plain=node.tag == _PLAIN)
        return plain_value(node.value) if node.tag == _PLAIN else node.value

    def _refuse_bomb(self, node: yaml.Node, depth: int) -> None:
        """Aliases are followed here, so a few lines may stand for a great many nodes, or for themselves."""
        self._nodes += 1
        if self._nodes > MAX_NODES or depth + self._merging > MAX_DEPTH:
            observed = f"over {MAX_NODES} values or {MAX_DEPTH} levels"
            raise bad(self.name, _at(node), "aliases (*name) make this file too large", observed, "less")

    def _tagged(self, node: yaml.Node) -> object:
        if self.keep_tags:
            return Tagged(node.tag, node.value if isinstance(node.value, str) else "")
        tag = node.tag.replace("tag:yaml.org,2002:", "!!")
        self._error(node, f"the tag {tag} is not allowed", tag, "data without tags")
        return None

    def _mapping(self, node: yaml.MappingNode, where: Where) -> dict[str, object]:
        found: dict[str, object] = {}
        lines: dict[str, int] = {}
        merged: dict[str, object] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in {_PLAIN, _TEXT}:
                self._error(key, "a key must be text", "a list, mapping or tag as key", "text")
            elif key.value == "<<" and key.tag == _PLAIN:
                merged = {**self._merge(value, where), **merged}
            elif key.value in found:
                seen = f"first at line {lines[key.value]}"
                self._error(key, f"the key {key.value} stands here twice", seen, "every key once")
            else:
                lines[key.value] = key.start_mark.line + 1
                found[key.value] = self.value(value, (*where, key.value), _at(key))
        return {**merged, **found}

    def _merge(self, node: yaml.Node, where: Where) -> dict[str, object]:
        """`<<: *defaults`, also with a list of them, of which the first wins; what the mapping says itself wins."""
        self._refuse_bomb(node, len(where))
        marks, self.marks = self.marks, {}
        self._merging += 1
        found: dict[str, object] = {}
        for one in node.value if isinstance(node, yaml.SequenceNode) else (node,):
            if isinstance(one, yaml.MappingNode):
                found = {**self._mapping(one, where), **found}
            else:
                self._error(one, "<< can merge mappings only", "another value", "the alias of a mapping")
        self._merging -= 1
        for place, mark in self.marks.items():
            marks.setdefault(place, mark)
        self.marks = marks
        return found

    def _error(self, node: yaml.Node, message: str, observed: str, required: str) -> None:
        self.errors.append(bad(self.name, _at(node), message, observed, required))


def _at(one: yaml.Node | yaml.Event) -> At:
    mark = one.start_mark
    return (mark.line, mark.column) if mark else (0, 0)
