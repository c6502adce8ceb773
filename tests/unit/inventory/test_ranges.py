import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.ranges import MAX_HOSTS, expand, fold


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("tray1", ["tray1"]),
        ("gpu[01-03]", ["gpu01", "gpu02", "gpu03"]),
        ("gpu[8-11]", ["gpu8", "gpu9", "gpu10", "gpu11"]),
        ("gpu[08-11]", ["gpu08", "gpu09", "gpu10", "gpu11"]),
        ("gpu[098-101]", ["gpu098", "gpu099", "gpu100", "gpu101"]),
        ("n[1-3,7]", ["n1", "n2", "n3", "n7"]),
        ("n[1, 3]x", ["n1x", "n3x"]),
        ("r[1-2]g[0-1]", ["r1g0", "r1g1", "r2g0", "r2g1"]),
        ("r[a-c]", ["ra", "rb", "rc"]),
        ("r[A,c]", ["rA", "rc"]),
        ("[1-2].example.com", ["1.example.com", "2.example.com"]),
        ("n[5-5]", ["n5"]),
        ("n[0]", ["n0"]),
        ("n[00]", ["n00"]),
        ("n[0-2]", ["n0", "n1", "n2"]),
    ],
)
def test_expansion(pattern: str, names: list[str]) -> None:
    assert list(expand(pattern)) == names


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        ("gpu[16-01]", "counts up"),
        ("gpu[c-a]", "counts up"),
        ("gpu[]", "numbers or letters"),
        ("gpu[1-]", "numbers or letters"),
        ("gpu[-1]", "numbers or letters"),
        ("gpu[1,,2]", "numbers or letters"),
        ("gpu[a-C]", "numbers or letters"),
        ("gpu[aa-ac]", "numbers or letters"),
        ("gpu[1:3]", "numbers or letters"),
        ("gpu[²]", "numbers or letters"),
        ("gpu[٣]", "numbers or letters"),
        ("gpu[9999999999]", "numbers or letters"),
        ("gpu[1-2", "brackets in pairs"),
        ("gpu1-2]", "brackets in pairs"),
        ("gpu[[1-2]]", "brackets in pairs"),
        ("gpu[08-112]", r"as many digits: \[008-112\]"),
        ("gpu[1-016]", r"as many digits: \[001-016\]"),
        ("gpu[1-4097]", f"at most {MAX_HOSTS} hosts, not 4097"),
        ("gpu[1-999999999]", f"at most {MAX_HOSTS}"),
        ("a[1-100]b[1-100]", f"at most {MAX_HOSTS} hosts, not 10000"),
    ],
)
def test_refusals_say_what_is_required(pattern: str, required: str) -> None:
    with pytest.raises(ValueError, match=required):
        expand(pattern)


def test_the_largest_range_is_allowed() -> None:
    assert len(expand(f"gpu[1-{MAX_HOSTS}]")) == MAX_HOSTS


@pytest.mark.parametrize(
    ("names", "short"),
    [
        ([], ""),
        (["tray1"], "tray1"),
        (["tray1", "tray2", "tray3"], "tray[1-3]"),
        (["node9", "node10", "node12"], "node[9-10,12]"),
        (["gpu01", "gpu02", "gpu10"], "gpu[01-02,10]"),
        (["gpu1", "gpu01"], "gpu1,gpu01"),
        (["login", "r1n2", "r1n3", "r2n2"], "login,r1n[2-3],r2n2"),
        (["gpu3.lab", "gpu4.lab"], "gpu[3-4].lab"),
        (["b2", "a1", "b1"], "b[1-2],a1"),
    ],
)
def test_names_are_folded(names: list[str], short: str) -> None:
    assert fold(names) == short


@given(st.lists(st.from_regex(r"[a-z]{0,2}[0-9]{0,4}[a-z]?", fullmatch=True).filter(bool), unique=True, max_size=40))
def test_folded_names_are_the_same_names(names: list[str]) -> None:
    parts = re.findall(r"(?:\[[^]]*\]|[^,\[])+", fold(names))
    assert sorted(name for part in parts for name in expand(part)) == sorted(names)
