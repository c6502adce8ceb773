import codecs
from pathlib import Path
from typing import Any

import pytest

from inventory import yamlfile, yamltext
from inventory.errors import BadInput, BringupError, ExitCode, Several

LAUGHS = b"a: &a [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n".encode()
    for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


def plain(text: str | bytes, *, keep_tags: bool = False) -> Any:  # noqa: ANN401  (plain data is anything)
    data = text.encode() if isinstance(text, str) else text
    return yamlfile.parse(data, "x.yaml", keep_tags=keep_tags).checked().data


def refusal(text: str | bytes) -> BringupError:
    with pytest.raises(BringupError) as caught:
        plain(text)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    return caught.value


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", None),
        ("# only a comment\n", None),
        ("---\n", None),
        ("a: 1\n", {"a": 1}),
        ("\ufeffa: 1\n", {"a": 1}),
        ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("- a\n- [b, {c: d}]\n", ["a", ["b", {"c": "d"}]]),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("1: a\nno: b\n1.5: c\n", {"1": "a", "no": "b", "1.5": "c"}),
        ("a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
        ("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\n", {"a": {"p": 1, "q": 2}, "b": {"p": 1, "q": 3}}),
        ("a: 😀\n", {"a": "😀"}),
    ],
)
def test_plain_data(text: str, data: object) -> None:
    assert plain(text) == data


def test_of_several_merged_mappings_the_first_counts() -> None:
    read = plain("x: &x {p: 1}\ny: &y {p: 2, q: 2}\nz: {<<: [*x, *y]}\n")
    assert read["z"] == {"p": 1, "q": 2}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("~", None), ("null", None), ("true", True), ("No", False), ("ON", True), ("oN", "oN"), ("y", "y"),
        ("0", 0), ("-7", -7), ("+7", 7), ("0x1f", 31), ("022", "022"), ("0o17", "0o17"), ("1_000", "1_000"),
        ("1:30", "1:30"), ("1.50", 1.5), ("1e5", 1e5), ("1e-5", 1e-5), ("-.5", -0.5), ("1.", 1.0),
        (".inf", float("inf")), ("-.inf", float("-inf")), ("0.1.2", "0.1.2"), ("2026-01-02", "2026-01-02"), ("=", "="),
        ("'no'", "no"), ('"22"', "22"), ("9" * 30, "9" * 30), ("9" * 5000, "9" * 5000), ("<<", "<<"),
    ],
)  # fmt: skip
def test_what_a_scalar_means(written: str, value: object) -> None:
    read = plain(f"a: {written}\n")["a"]
    assert (read, type(read)) == (value, type(value))


def test_not_a_number_is_one() -> None:
    assert plain("a: .nan")["a"] != plain("a: .nan")["a"]


@pytest.mark.parametrize(
    ("text", "place", "observed"),
    [
        ("a: 1\na: 2\n", "x.yaml:2:1: the key a stands here twice", "first at line 1"),
        ("a:\n  b: 1\n  b: 1\n", "x.yaml:3:3: the key b stands here twice", "first at line 2"),
        ("a: !!python/object:os.system x\n", "x.yaml:1:4: the tag !!python/object:os.system", "!!python"),
        ("a: !vault x\n", "x.yaml:1:4: the tag !vault", "!vault"),
        ("a: !!str 1\n", "x.yaml:1:4: the tag !!str", "!!str"),
        ("!!map {a: 1}\n", "x.yaml:1:1: the tag !!map", "!!map"),
        ("? [a]\n: 1\n", "x.yaml:1:3: a key must be text", "a list"),
        ("? !x a\n: 1\n", "x.yaml:1:3: a key must be text", "tag"),
        ("a:\n\tb: 1\n", "x.yaml:2:1: a tab where YAML wants spaces", "a tab"),
        ("a: b: c\n", "x.yaml:1:5: this is not YAML", "mapping values"),
        ("a: [1\n", "this is not YAML", "flow sequence"),
        ("a: 'b\n", "this is not YAML", "quoted scalar"),
        ("a: *b\n", "x.yaml:1:4: this is not YAML", "alias"),
        ("---\na: 1\n---\nb: 1\n", "x.yaml:3:1: more than one YAML document", "---"),
        ("a: 1\nb: \x00\n", "x.yaml:2:4: a character that YAML forbids", "not allowed"),
        (b"a: 1\nb: \xff\n", "x.yaml:2:4: the file is not UTF-8 text", "0xff"),
        (codecs.BOM_UTF16_LE + "a: 1".encode("utf-16-le"), "x.yaml:1:1: the file is not UTF-8", "UTF-16"),
        ("[" * 100 + "]" * 100, "x.yaml:1:65: nested too deep", "over 64 levels"),
        ("[" * 500_000, "x.yaml:1:", ""),
        ("a: {<<: 1}\n", "x.yaml:1:9: << can merge mappings only", "another value"),
        ("a: &a [*a]\n", "aliases", "64 levels"),
        ("a: &a {<<: *a}\n", "aliases", "64 levels"),
        ("a: &a {<<: [*a, *a, *a, *a]}\n", "aliases", "64 levels"),
        (LAUGHS, "aliases", "100000 values"),
    ],
)  # fmt: skip
def test_refusals_have_a_place(text: str | bytes, place: str, observed: str) -> None:
    error = refusal(text)
    first = error.errors[0] if isinstance(error, Several) else error
    assert place in first.message
    assert observed in first.observed
    assert first.required
    assert first.next_command.startswith("${EDITOR:-vi} +")


def test_all_errors_of_a_file_come_at_once() -> None:
    error = refusal("a: !x 1\nb: 1\nb: 2\nc: {d: 1, d: 2}\n")
    assert isinstance(error, Several)
    assert [one.message.split(": ")[0] for one in error.errors] == ["x.yaml:1:4", "x.yaml:3:1", "x.yaml:4:11"]


def test_tags_of_a_foreign_file_are_kept_and_not_interpreted() -> None:
    data = plain("a: !vault |\n  abc\nb: !!python/name:os.system ''\nc: !set {x: 1}\n", keep_tags=True)
    assert data["a"] == yamlfile.Tagged("!vault", "abc\n")
    assert data["b"] == yamlfile.Tagged("tag:yaml.org,2002:python/name:os.system", "")
    assert data["c"] == yamlfile.Tagged("!set", "")


def test_what_a_mapping_says_itself_counts_more_than_what_it_merges() -> None:
    document = yamlfile.parse(b"base: &b {port: x}\nhost: {port: 22, <<: *b}\n", "x.yaml")
    assert document.data["host"] == {"port": 22}
    assert document.marks["host", "port"].value == (1, 13)


def test_a_merged_value_is_placed_where_it_is_written() -> None:
    document = yamlfile.parse(b"base: &b {port: x}\nhost: {<<: *b}\n", "x.yaml")
    assert document.marks["host", "port"].value == (0, 16)


class TestFiles:
    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="cannot be read") as caught:
            yamlfile.read_plain(tmp_path / "no.yaml")
        assert caught.value.observed == "No such file or directory"
        assert caught.value.next_command == f"ls -ld -- {tmp_path}/no.yaml"

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="cannot be read"):
            yamlfile.read_plain(tmp_path)

    def test_a_name_with_a_nul_byte(self) -> None:
        with pytest.raises(BadInput, match="cannot be read"):
            yamlfile.read_plain(Path("a\0b"))

    def test_a_file_that_is_too_large(self, tmp_path: Path) -> None:
        path = tmp_path / "big.yaml"
        path.write_bytes(b"#" * (yamltext.MAX_BYTES + 1))
        with pytest.raises(BadInput, match="too large"):
            yamlfile.read_plain(path)

    def test_a_path_with_spaces_in_the_next_command(self, tmp_path: Path) -> None:
        path = tmp_path / "my hosts.yaml"
        path.write_text("a: 1\na: 2\n")
        with pytest.raises(BadInput) as caught:
            yamlfile.read_plain(path)
        assert caught.value.next_command == f"${{EDITOR:-vi}} +2 '{path}'"
