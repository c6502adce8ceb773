import json
import math
import re

import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from inventory import yamlfile
from inventory.errors import BadInput, Several
from inventory.schema import InventoryFile
from inventory.secret import Secret

YAML_LIKE = st.text(
    alphabet=st.sampled_from("ab01:-?[]{},#&*!|>'\"%@`~<= \n\t.\\nohsu\x00\x85\ufeff\u2028é"), max_size=80
)
SIGNS = ("!x ", "&a ", "*a", "<<: ", "- ", "\n", " ", "{", "}", "[", "]", ",", "'", '"', " a", "no", "22", "022", "~")
KEYS = (
    "hosts:",
    "groups:",
    "defaults:",
    "  user: ",
    "  port: ",
    "env: ",
    "mirrors: ",
    "proxy: ",
    "gpu[01-04]",
    "vars: ",
)
WORDS = st.sampled_from([*SIGNS, *KEYS])
INVENTORY_LIKE = st.lists(WORDS, max_size=30).map("".join)
TEXT = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=20)  # one JSON escape each
SCALARS = (
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    count: int = 0
    items: tuple["int | Model", ...] = ()
    token: Secret | None = None


def read(data: bytes, model: type[BaseModel]) -> None:
    """Reads, or raises what an operator understands: every error has a place in the file and all its parts."""
    try:
        yamlfile.parse(data, "x.yaml").validate(model)
    except (BadInput, Several) as error:
        for one in getattr(error, "errors", (error,)):
            assert one.message.startswith("x.yaml:")
            assert one.message.isprintable()
            assert one.required
            assert one.next_command


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    read(data, Model)


@given(st.one_of(YAML_LIKE, INVENTORY_LIKE, st.text(max_size=80)))
def test_any_text(text: str) -> None:
    data = text.encode(errors="replace")
    read(data, Model)
    read(data, InventoryFile)


@given(DATA)
def test_what_another_writer_writes_is_read_as_it_was(data: object) -> None:
    assert _same(yamlfile.parse(json.dumps(data).encode(), "x.yaml").checked().data, data)


@given(DATA)
def test_what_pyyaml_writes_is_read_as_it_was(data: object) -> None:
    text = yaml.safe_dump(data, allow_unicode=False)
    document = yamlfile.parse(text.encode(), "x.yaml")
    if not document.errors:  # PyYAML tags what it cannot write plainly
        assert _same(document.data, _as_yaml_1_2(data))


@given(DATA)
def test_any_data_in_any_model(data: object) -> None:
    read(json.dumps(data).encode(), Model)
    read(json.dumps({"name": data, "items": [data], "count": data, "token": data}).encode(), Model)
    read(json.dumps({"hosts": {"a": data}, "groups": data, "defaults": data}).encode(), InventoryFile)


def _as_yaml_1_2(data: object) -> object:
    """PyYAML writes YAML 1.1, where `0E0` is text and needs no quotes; numbers are read by YAML 1.2."""
    if isinstance(data, dict):
        return {key: _as_yaml_1_2(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_as_yaml_1_2(value) for value in data]
    return float(data) if isinstance(data, str) and re.fullmatch(r"[-+]?[0-9]+[eE][-+]?[0-9]+", data) else data


def _same(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return isinstance(one, (int, float)) and isinstance(other, (int, float)) and math.isclose(one, other)
    return type(one) is type(other) and one == other
