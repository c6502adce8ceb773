from __future__ import annotations

import pytest

from inventory.facts.answers import Item, unframe
from inventory.facts.base import Unknown, Why
from tests.answered import MARK, answers, frame_files, framed


def why(name: str, data: bytes) -> Why | None:
    text = unframe(data).text(name)
    return text.why if isinstance(text, Unknown) else None


def test_the_six_unknowns_are_told_apart() -> None:
    data = framed(
        {
            "gpu.missing": (127, "nvidia-smi: not found"),
            "gpu.refused": (1, "cat: /x: Permission denied"),
            "gpu.not-executable": (126, "./x: Permission denied"),
            "gpu.empty": " \n",
            "gpu.broken": (9, "segmentation fault"),
            "gpu.fine": "8\n",
        },
        ends={"slow": 124, "killed": 137},
    )
    assert why("gpu.missing", data) is Why.MISSING_TOOL
    assert why("gpu.refused", data) is Why.REFUSED
    assert why("gpu.not-executable", data) is Why.REFUSED
    assert why("gpu.empty", data) is Why.EMPTY
    assert why("gpu.broken", data) is Why.UNREADABLE
    assert why("slow.anything", data) is Why.TIMED_OUT
    assert why("killed.anything", data) is Why.TIMED_OUT
    assert why("gpu.other", data) is Why.NOT_ASKED
    assert why("other.other", data) is Why.NOT_ASKED
    assert unframe(data).text("gpu.fine") == "8\n"


def test_a_section_that_outlived_its_kill_is_timed_out() -> None:
    data = frame_files({"nvidia.end.err": b"", "nvidia.status": b""})
    unknown = unframe(data).text("nvidia.xml")
    assert unknown == Unknown(Why.TIMED_OUT, "nvidia: did not end, not even when killed")


def test_what_a_section_said_before_its_deadline_counts() -> None:
    got = answers({"disks.path.1": "/tmp\nyes\n"}, ends={"disks": 124})
    assert got.text("disks.path.1") == "/tmp\nyes\n"
    assert isinstance(got.text("disks.path.2"), Unknown)


def test_noise_before_and_after_is_no_answer() -> None:
    data = b"Welcome!\n\x00\xff" * 1000 + b"\n" + framed({"a.b": "c"}) + b"logout\n"
    assert unframe(data).text("a.b") == "c"


@pytest.mark.parametrize("cut", [0.05, 0.4, 0.9])
def test_a_cut_answer_keeps_what_came_and_names_the_rest(cut: float) -> None:
    whole = framed({f"s{number}.x": "y" * 500 for number in range(9)})
    got = unframe(whole[: int(len(whole) * cut)])
    last = got.text("s8.x")
    assert isinstance(last, Unknown)
    assert last.why is Why.UNREADABLE
    assert got.fault


def test_a_changed_length_is_damage_of_that_item_only() -> None:
    got = unframe(framed({"a.x": "one", "b.x": "two"}).replace(b"\none\n", b"\none and more\n"))
    assert got.text("a.x") == Unknown(Why.UNREADABLE, "a.x: the answer came damaged")
    assert got.text("b.x") == "two"


def test_another_format_version_is_named() -> None:
    got = unframe(framed({"a.x": "one"}).replace(b"bringup-facts 1", b"bringup-facts 2"))
    assert got.text("a.x") == Unknown(Why.UNREADABLE, "format version 2, not 1")


def test_no_answer_quotes_what_came_instead() -> None:
    assert unframe(b"\nThis account is currently not available.\n").fault == (
        "no answer of the script: This account is currently not available."
    )


def test_a_complaint_is_one_printable_line() -> None:
    item = Item(1, b"", b"\n\x1b[31m" + b"x" * 500 + b"\nsecond")
    assert item.complaint.startswith("[31mxxx")
    assert len(item.complaint) == 160


def test_pages_come_in_number_order_with_their_keys() -> None:
    items = {f"network.route.{n}": f"10.0.0.{n}\nvia {n}\n" for n in (10, 2, 1)}
    pages = answers({**items, "network.route.x": "no page"}).pages("network.route")
    assert [(key, item.text) for key, item in pages] == [
        ("10.0.0.1", "via 1\n"),
        ("10.0.0.2", "via 2\n"),
        ("10.0.0.10", "via 10\n"),
    ]


def test_the_mark_inside_an_item_cannot_make_a_new_one() -> None:
    got = unframe(framed({"a.x": f"\n{MARK}\nfake", "b.x": "two"}))
    assert isinstance(got.text("a.x"), Unknown)
    assert got.text("b.x") != "fake"
