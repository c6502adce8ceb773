"""Bundles: what is written is read back, and whatever is missing is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inventory.errors import BadInput, ExitCode
from inventory.facts import saved
from inventory.facts.answers import unframe
from inventory.facts.base import Unknown, Why
from inventory.facts.raw import RawAnswer
from tests.answered import HOSTS, answers, fixture, framed

PLACE = saved.Place(address="192.0.2.1", state_dir="/var/lib/bringup", fabric_address="198.51.100.1")


def raw(host: str = "tray1", source: str = "gb200-tray") -> RawAnswer:
    return RawAnswer(host, answers(fixture(source)), b"welcome\n", 1.5, 1800000000.0, 1800000001.0)


def bundle(*raws: RawAnswer, sections: tuple[str, ...] = ("system", "nvidia")) -> saved.Bundle:
    head = saved.Head(
        made_at="2027-01-15T08:00:01+00:00",
        redacted=False,
        sections=sections,
        hosts=(*(one.host for one in raws), "tray9"),
        silent={"tray9": saved.Silent(message="no answer", id="timeout", observed="10 s")},
    )
    return saved.Bundle(head, {one.host: one for one in raws}, {one.host: PLACE for one in raws})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    saved.save(tmp_path / "bundle", bundle(raw("tray1"), raw("tray2", "h200-hgx")))
    return tmp_path / "bundle"


def refusal(folder: Path) -> BadInput:
    with pytest.raises(BadInput) as caught:
        saved.load(folder)
    assert caught.value.exit_code == ExitCode.BAD_INPUT
    return caught.value


def edit(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_facts_read_the_same(folder: Path) -> None:
    found = saved.load(folder)
    assert {host: one.facts() for host, one in found.answers.items()} == {
        "tray1": raw("tray1").facts(),
        "tray2": raw("tray2", "h200-hgx").facts(),
    }
    assert found.places["tray1"] == PLACE
    assert found.head.silent["tray9"].observed == "10 s"


def test_nothing_else_is_left(folder: Path) -> None:
    assert [path.name for path in folder.parent.iterdir()] == ["bundle"]
    assert sorted(path.name for path in folder.iterdir()) == ["BUNDLE.json", "tray1", "tray2"]


def test_any_bytes(tmp_path: Path) -> None:
    data = bytes(range(256)) * 3
    one = RawAnswer("tray1", answers({"system.kernel": data, "system.lab": (2, "no\tfile\x00")}), b"", 1, 0, 0)
    saved.save(tmp_path / "b", bundle(one, sections=("system",)))
    read = saved.load(tmp_path / "b").answers["tray1"].answers
    assert read.files["system.kernel.out"] == data
    assert read.item("system.lab") == one.answers.item("system.lab")


@pytest.mark.parametrize("cut", [0.0, 0.3, 0.9])
def test_an_answer_that_was_cut_off_stays_one(tmp_path: Path, cut: float) -> None:
    whole = framed(fixture("gb200-tray"))
    one = RawAnswer("tray1", unframe(whole[: int(len(whole) * cut)]), b"", 1, 1800000000.0, 1800000001.0)
    saved.save(tmp_path / "b", bundle(one))
    assert saved.load(tmp_path / "b").answers["tray1"].facts() == one.facts()


def test_a_section_that_timed_out_stays_one(tmp_path: Path) -> None:
    one = RawAnswer("tray1", answers(fixture("cpu-only"), {"nvidia": 124, "pci": 124}), b"", 1, 0, 0)
    saved.save(tmp_path / "b", bundle(one))
    facts = saved.load(tmp_path / "b").answers["tray1"].facts()
    assert facts == one.facts()


def test_another_format_version(folder: Path) -> None:
    edit(folder / saved.BUNDLE, format_version=2)
    assert refusal(folder).observed == "format version 2"


def test_a_missing_host(folder: Path) -> None:
    for path in (folder / "tray2").iterdir():
        path.unlink()
    assert "tray2" in refusal(folder).observed


def test_a_missing_section(folder: Path) -> None:
    path = folder / "tray2" / saved.ANSWER
    sections = json.loads(path.read_text())["sections"]
    del sections["nvidia"]
    edit(path, sections=sections)
    error = refusal(folder)
    assert (error.observed, "tray2" in error.message) == ("no section nvidia", True)


def test_a_missing_item(folder: Path) -> None:
    (folder / "tray1" / "nvidia.xml").unlink()
    assert "tray1/nvidia.xml" in refusal(folder).observed


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "\ufffd"])
def test_no_bundle_at_all(folder: Path, text: str) -> None:
    (folder / saved.BUNDLE).write_text(text)
    refusal(folder)


def test_no_such_folder(tmp_path: Path) -> None:
    assert "BUNDLE.json" in refusal(tmp_path / "none").observed


@pytest.mark.parametrize(
    ("name", "values"),
    [
        (saved.BUNDLE, {"hosts": ["../../etc"]}),
        (saved.BUNDLE, {"hosts": ["/etc"]}),
        (saved.BUNDLE, {"extra": 1}),
        ("tray1/ANSWER.json", {"sections": {"system": {"end": 0, "items": {"../../x": {"status": 0}}}}}),
        ("tray1/ANSWER.json", {"place": {"address": "-oProxyCommand=x", "state_dir": "/var/lib/bringup"}}),
        ("tray1/ANSWER.json", {"place": {"address": "a", "state_dir": "/var/lib/$(x)"}}),
        ("tray1/ANSWER.json", {"seconds": "soon"}),
    ],
)
def test_a_bundle_is_untrusted(folder: Path, name: str, values: dict[str, object]) -> None:
    edit(folder / name, **values)
    refusal(folder)


def test_a_place_that_is_taken(folder: Path, tmp_path: Path) -> None:
    for place in (folder, folder / saved.BUNDLE, tmp_path / "none" / "b"):
        with pytest.raises(BadInput):
            saved.refuse_taken(place)
    (tmp_path / "empty").mkdir()
    saved.refuse_taken(tmp_path / "empty")
    saved.save(tmp_path / "empty", bundle(raw()))
    assert saved.load(tmp_path / "empty").head.hosts == ("tray1", "tray9")
    assert (tmp_path / "empty").stat().st_mode & 0o077 == 0, "what hosts said is nobody else's"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    broken = bundle(raw())
    with pytest.raises(KeyError):
        saved.save(tmp_path / "b", saved.Bundle(broken.head, broken.answers, {}))
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_bad_input() -> None:
    with pytest.raises(BadInput, match="nothing can be kept in /proc/b") as caught:
        saved.save(Path("/proc/b"), bundle(raw()))
    assert caught.value.next_command == "the same command with another folder"


def test_the_fixture_hosts_are_a_bundle() -> None:
    """After adding a file to one of them: list it in its ANSWER.json."""
    found = saved.load(HOSTS)
    for host, one in found.answers.items():
        files = {path.name for path in (HOSTS / host).iterdir() if "." in path.name} - {saved.ANSWER}
        assert files <= {*one.answers.statuses}, host
        gpus = one.facts().gpus
        assert not isinstance(gpus, Unknown) or gpus.why is not Why.NOT_ASKED
