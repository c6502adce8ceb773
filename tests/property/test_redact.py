"""Redaction and bundles hold for any bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from inventory.facts import saved
from inventory.facts.raw import RawAnswer
from inventory.facts.redact import Redactor
from tests.answered import Said, answers

PIECES = st.sampled_from(
    [
        b"3c:ec:ef:12:34:56",
        b"GPU-11aa22bb-33cc-44dd-55ee-66ff77008899",
        b"fe80::3eec:efff:fe12:3456/64",
        b"sys_image_guid:b8ce:f603:00a1:b2c3",
        b"<serial>1653023012345</serial>",
        b'"serial": "X1"',
        b"unique_id 11140123456789012345",
        b"password=hunter2",
        b"://a:b@",
        b"hf_aBcDeFgHiJkLmNoPqRsT",
        b" ",
        b"\n",
        b":",
    ]
)
TEXTS = st.lists(st.one_of(PIECES, st.binary(max_size=12))).map(b"".join)


@given(TEXTS)
def test_twice_is_once(text: bytes) -> None:
    once = Redactor().text(text)
    assert Redactor().text(once) == once


@given(TEXTS)
def test_lines_stay_lines(text: bytes) -> None:
    assert Redactor().text(text).count(b"\n") == text.count(b"\n")


@given(st.lists(PIECES, min_size=1))
def test_nothing_of_a_secret_stays(pieces: list[bytes]) -> None:
    text = Redactor().text(b"\n".join(pieces))
    for secret in (b"12:34:56", b"66ff77008899", b"fe12:3456", b"b8ce:f603", b"1653023012345", b"hunter2", b"aBcDeFg"):
        assert secret not in text


@given(st.dictionaries(st.sampled_from(["system.kernel", "nvidia.xml", "pci.devices"]), st.binary(), min_size=1))
def test_a_bundle_keeps_any_bytes(printed: dict[str, bytes]) -> None:
    items: dict[str, Said] = dict(printed)
    one = RawAnswer("tray1", answers(items), b"", 1.0, 0.0, 1.0)
    head = saved.Head(made_at="now", redacted=False, sections=(), hosts=("tray1",))
    place = saved.Place(address="tray1", state_dir="/var/lib/bringup")
    with tempfile.TemporaryDirectory() as folder:
        saved.save(Path(folder) / "b", saved.Bundle(head, {"tray1": one}, {"tray1": place}))
        read = saved.load(Path(folder) / "b").answers["tray1"].answers
    assert {name: read.files[f"{name}.out"] for name in printed} == printed
    assert read.statuses == one.answers.statuses
