"""docs/reference/facts.md tells every member of the JSON of `probe`: its end is made from the dataclasses."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import tokenize
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from pydantic_core import to_jsonable_python

from inventory.facts import host
from inventory.facts.base import Unknown, Why
from inventory.facts.host import HostFacts
from tests.answered import facts, fixture

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/facts.md"
BEGINS = "### HostFacts\n"
PLAIN = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}


def classes() -> list[type]:
    """All dataclasses of facts, the whole first."""
    found = [one for one in vars(host).values() if dataclasses.is_dataclass(one) and isinstance(one, type)]
    own = [one for one in found if one.__module__.startswith(host.__name__)]
    return sorted(own, key=lambda one: one is not HostFacts)


def in_words(node: ast.expr) -> str:  # noqa: PLR0911  (one for each form)
    """A type as JSON has it."""
    match node:
        case ast.Name(id=name):
            return PLAIN.get(name, f"[{name}](#{name.lower()})")
        case ast.BinOp(left=left, right=ast.Constant(value=None)):
            return f"{in_words(left)}, or null"
        case ast.BinOp(left=left, right=right):
            return f"{in_words(left)} or {in_words(right)}"
        case ast.Subscript(value=ast.Name(id="Maybe"), slice=inner):
            return f"{in_words(inner)}, or unknown"
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=values)):
            return ", ".join(f"`{ast.literal_eval(value)}`" for value in values)
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[inner, ast.Constant(value=end)])):
            assert end is ...
            each = in_words(inner)
            return f"list of ({each})" if each.startswith("list of") else f"list of {each}"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=parts)):
            return f"list of {len(parts)}: {', '.join(map(in_words, parts))}"
    raise AssertionError(ast.unparse(node))


def comments(source: str) -> dict[int, str]:
    """What is said behind the code of a line, by line number."""
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    return {one.start[0]: one.string.lstrip("# ") for one in tokens if one.type == tokenize.COMMENT}


def section(one: type) -> Iterator[str]:
    source = inspect.getsource(one)
    said = comments(source)
    body = next(node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    yield f"### {one.__name__}\n\n"
    if text := ast.get_docstring(body):
        yield f"{text}\n\n"
    yield "| member | is | |\n|---|---|---|\n"
    for field in body.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            meaning = next(
                (said[line] for line in range(field.lineno, (field.end_lineno or 0) + 1) if line in said), ""
            )
            yield f"| `{field.target.id}` | {in_words(field.annotation)} | {meaning.replace('|', ' or ')} |\n"
    yield "\n"


def generated() -> str:
    return "".join(line for one in classes() for line in section(one)).rstrip() + "\n"


def test_the_page_is_true() -> None:
    """After a wanted change: `python -m tests.contract.test_facts_reference`."""
    text = PAGE.read_text(encoding="utf-8")
    assert text[text.index(BEGINS) :] == generated()


def test_every_kind_of_unknown_is_told() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [why for why in Why if f"`{why}`" not in text] == []


def test_the_page_tells_what_the_document_holds() -> None:
    """Every member of a real document stands in the table of its class."""
    document = json.loads(json.dumps(to_jsonable_python(facts(fixture("h200-hgx")))))
    tables = {one.__name__: "".join(section(one)) for one in classes()}
    assert [name for name in document if f"| `{name}` |" not in tables["HostFacts"]] == []
    gpu = document["gpus"]["devices"][0]
    assert [name for name in gpu if f"| `{name}` |" not in tables["Gpu"]] == []
    assert set(to_jsonable_python(Unknown(Why.EMPTY))) == {"why", "detail"}


def test_every_link_leads_somewhere() -> None:
    text = PAGE.read_text(encoding="utf-8")
    heads = {line.lstrip("# ").lower() for line in text.splitlines() if line.startswith("#")}
    assert set(re.findall(r"\(#([a-z]+)\)", text)) <= heads


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8").partition(BEGINS)[0]
    PAGE.write_text(before + generated(), encoding="utf-8")
