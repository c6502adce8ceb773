# ruff: noqa: E501  (a table: one case a line)
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from inventory import yamlfile
from inventory.errors import BadInput, BringupError, Several
from inventory.fields import keys_at
from inventory.secret import Secret, Url


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


class Package(Strict):
    kind: Literal["package"]
    name: str
    version: str | None = None


class Sysctl(Strict):
    kind: Literal["sysctl"]
    key: str
    value: int


class Book(Strict):
    title: str
    why: str = ""
    level: Level = Level.LOW
    count: int = Field(default=1, ge=1)
    ratio: float = 1.0
    on: bool = True
    tags: tuple[str, ...] = ()
    either: int | list[str] = 1
    alias: str = Field(default="", alias="from")
    limits: Mapping[str, int] = {}
    steps: tuple[Annotated[Package | Sysctl, Field(discriminator="kind")], ...] = ()
    plain: list[Package | Sysctl] = []
    token: Secret | None = None
    mirror: Url | None = None

    @field_validator("why")
    @classmethod
    def one_sentence(cls, text: str) -> str:
        if "\n" in text:
            raise ValueError("one sentence")
        return text


def read(text: str, *, tolerate_unknown: bool = False) -> Book:
    return yamlfile.parse(text.encode(), "b.yaml").validate(Book, tolerate_unknown=tolerate_unknown)


def refusal(text: str) -> BringupError:
    with pytest.raises(BringupError) as caught:
        read(text)
    return caught.value


def test_a_good_file() -> None:
    book = read(
        "title: x\nlevel: high\ntags: [a]\nfrom: y\nlimits: {a: 1}\nratio: 2\nsteps: [{kind: sysctl, key: a, value: 1}]\n"
    )
    assert (book.level, book.tags, book.alias, book.limits, book.ratio) == (Level.HIGH, ("a",), "y", {"a": 1}, 2.0)
    assert book.steps == (Sysctl(kind="sysctl", key="a", value=1),)


@pytest.mark.parametrize(
    ("text", "message", "observed", "required"),
    [
        ("title: x\ntitel: y\n", "b.yaml:2:1: unknown key titel, did you mean title?", "titel", "one of count"),
        ("title: x\nform: y\n", "unknown key form, did you mean from?", "form", "from"),
        ("title: x\nzzz: y\n", "b.yaml:2:1: unknown key zzz", "zzz", "one of"),
        ("why: x\n", "b.yaml:1:1: the key title is missing", "no title in the file", "the key title"),
        ("", "the file is empty, title is missing", "no title", "the key title"),
        ("[a]\n", "b.yaml:1:1: the file cannot be a list", "a list", "a mapping (key: value)"),
        ("text\n", "b.yaml:1:1: the file cannot be text", "text", "a mapping"),
        ("title: no\n", "b.yaml:1:8: title cannot be no", "no, which YAML reads as the boolean false", "text: put it in quotes"),
        ("title: 1e5\n", "title cannot be 1e5", "1e5, which YAML reads as the number 100000.0", "text: put it in quotes"),
        ("title: ~\n", "title cannot be ~", "~, which YAML reads as nothing", "text: put it in quotes"),
        ("title:\n", "title cannot be nothing", "nothing", "text"),
        ("title: [a]\n", "title cannot be a list", "a list", "text"),
        ("title: x\ncount: '2'\n", 'b.yaml:2:8: count cannot be "2"', '"2"', "a whole number, without quotes or leading zeros"),
        ("title: x\ncount: 022\n", "count cannot be 022", "022", "a whole number, without quotes or leading zeros"),
        ("title: x\ncount: yes\n", "count cannot be yes", "yes", "a whole number"),
        ("title: x\ncount: 1.5\n", "count cannot be 1.5", "1.5", "a whole number"),
        ("title: x\ncount: 0\n", "count cannot be 0", "0", "greater than or equal to 1"),
        ("title: x\nratio: a\n", "ratio cannot be a", "a", "a number, without quotes"),
        ("title: x\non: 1\n", "on cannot be 1", "1", "true or false"),
        ("title: x\nlevel: hihg\n", "level cannot be hihg, did you mean high?", "hihg", "'low' or 'high'"),
        ("title: x\ntags: a\n", "tags cannot be a", "a", "a list"),
        ("title: x\ntags: [a, 1]\n", "b.yaml:2:11: tags[1] cannot be 1", "1, which YAML", "text: put it in quotes"),
        ("title: x\nlimits: {a: b}\n", "b.yaml:2:13: limits.a cannot be b", "b", "a whole number"),
        ("title: x\nlimits: 1\n", "limits cannot be 1", "1", "a mapping (key: value)"),
        ("title: x\neither: a\n", "either cannot be a", "a", "a whole number, without quotes or leading zeros or a list"),
        ('title: x\nwhy: "a\\nb"\n', "why cannot be", "a?b", "one sentence"),
        ("title: x\nsteps: [{kind: syctl}]\n", "b.yaml:2:16: steps[0].kind cannot be syctl, did you mean sysctl?", "syctl", "one of package, sysctl"),
        ("title: x\nsteps: [{name: a}]\n", "b.yaml:2:9: the key kind is missing", "no kind in steps[0]", "the key kind"),
        ("title: x\nsteps:\n- kind: sysctl\n  key: a\n  value: 1\n  version: b\n", "unknown key version", "version", "one of key, kind, value"),
        ("title: x\nsteps:\n- kind: sysctl\n  key: a\n  vlaue: 1\n  value: 1\n", "b.yaml:5:3: unknown key vlaue, did you mean value?", "vlaue", "value"),
        ("title: x\nsteps:\n- kind: package\n", "b.yaml:3:3: the key name is missing", "no name in steps[0]", "the key name"),
        ("title: x\nplain: [1]\n", "plain[0] cannot be 1", "1", "a mapping (key: value)"),
    ],
)  # fmt: skip
def test_each_error_names_place_value_and_what_is_required(
    text: str, message: str, observed: str, required: str
) -> None:
    error = refusal(text)
    assert isinstance(error, BadInput)
    assert error.id == "yaml-file"
    assert message in error.message
    assert observed in error.observed
    assert required in error.required


def test_all_errors_at_once_in_the_order_of_the_file() -> None:
    error = refusal("titel: x\ncount: a\ncount: b\nlevel: c\n")
    assert isinstance(error, Several)
    lines = [one.message for one in error.errors]
    assert lines[0] == "b.yaml:3:1: the key count stands here twice"
    assert [line.split(": ")[0] for line in lines[1:]] == ["b.yaml:1:1", "b.yaml:1:1", "b.yaml:2:8", "b.yaml:4:8"]


def test_a_wrong_tag_is_one_error_not_two() -> None:
    error = refusal("title: x\ncount: !x 1\n")
    assert [one.observed for one in getattr(error, "errors", (error,))] == ["!x"]


def test_secrets_are_not_shown() -> None:
    error = refusal("title: x\ntoken: 12345\nmirror: 6\n")
    assert "12345" not in str(error)
    assert "token cannot be ***" in str(error)


def test_unknown_keys_can_be_tolerated_everywhere_and_nothing_else() -> None:
    text = "title: x\nnew: 1\nsteps: [{kind: sysctl, key: a, value: 1, more: 2}]\n"
    assert read(text, tolerate_unknown=True).steps == (Sysctl(kind="sysctl", key="a", value=1),)
    with pytest.raises(BadInput, match="count cannot be a"):
        read(text + "count: a\n", tolerate_unknown=True)


def test_any_type_that_pydantic_knows() -> None:
    document = yamlfile.parse(b"a: [1, 2]\n", "x.yaml")
    assert document.validate(dict[str, list[int]]) == {"a": [1, 2]}
    with pytest.raises(BadInput, match=r"a\[1\] cannot be x"):
        yamlfile.parse(b"a: [1, x]\n", "x.yaml").validate(dict[str, list[int]])


def test_long_and_unprintable_values_are_cut() -> None:
    error = refusal('title: x\ncount: "' + "é\\e" * 500 + '"\n')
    assert len(error.message) < 150
    assert error.message.isprintable()


def test_reading_a_file(tmp_path: Path) -> None:
    path = tmp_path / "book.yaml"
    path.write_text("title: x\n")
    assert yamlfile.read(path, Book).title == "x"


def test_the_keys_of_a_place_follow_unions_lists_and_aliases() -> None:
    assert keys_at(Book, ("steps", 0)) == {"kind", "name", "version", "key", "value"}
    assert keys_at(Book, ("nowhere", "at", "all")) == set()
    assert "from" in keys_at(Book, ())
    assert keys_at(dict[str, Package | None], ("x",)) == {"kind", "name", "version"}
