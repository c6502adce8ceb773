from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inventory.facts.answers import Answers, unframe
from inventory.facts.base import Unknown
from tests.answered import framed

NAMES = st.from_regex(r"[a-z]{1,6}\.[a-z0-9-]{1,6}", fullmatch=True).filter(lambda name: ".end" not in name)
ITEMS = st.dictionaries(NAMES, st.binary(max_size=300), max_size=8)


def said(answers: Answers, name: str) -> bytes | None:
    item = answers.item(name)
    return None if isinstance(item, Unknown) else item.out


@given(items=ITEMS, before=st.binary(max_size=200), after=st.binary(max_size=200))
def test_any_bytes_survive_between_any_noise(items: dict[str, bytes], before: bytes, after: bytes) -> None:
    answers = unframe(before + b"\n" + framed(dict(items)) + after)
    assert {name: said(answers, name) for name in items} == items


@given(items=ITEMS, cut=st.integers(min_value=0, max_value=5000))
def test_a_cut_answer_never_changes_an_item(items: dict[str, bytes], cut: int) -> None:
    answers = unframe(framed(dict(items))[:cut])
    for name, body in items.items():
        assert said(answers, name) in {None, body}


@given(items=ITEMS, noise=st.binary(min_size=1, max_size=20), at=st.integers(min_value=0, max_value=5000))
def test_noise_inside_damages_and_never_lies(items: dict[str, bytes], noise: bytes, at: int) -> None:
    """A status line may be hit too: then a status is lost, and with it the item."""
    whole = framed(dict(items))
    answers = unframe(whole[:at] + noise + whole[at:])
    for name, body in items.items():
        assert said(answers, name) in {None, body}


@given(data=st.binary(max_size=2000))
def test_garbage_is_no_answer(data: bytes) -> None:
    answers = unframe(data)
    assert answers.files == {}
    assert answers.fault


def test_ten_megabytes_of_motd() -> None:
    motd = (b"Welcome to the cluster\xff\0\n" * 450_000)[: 10 << 20]
    assert said(unframe(motd + b"\n" + framed({"a.b": b"c"})), "a.b") == b"c"
