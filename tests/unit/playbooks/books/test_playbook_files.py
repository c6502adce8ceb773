"""Playbooks as files: what is wrong is said with its place; those that come along are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from inventory.errors import BadInput, BringupError, Several
from playbooks.checks import CHECKS
from playbooks.kinds import KINDS
from playbooks.schema import FOLDER, PLAYBOOKS, find, load_playbook
from playbooks.values import VALUES, named

HEAD = "about: x\nsettings: {size: {about: y, default: '1'}}\nsteps:\n"
GOOD = "- {id: a, kind: sysctl, why: w, values: {a.b: 1}}\n"


def said(tmp_path: Path, text: str) -> list[BringupError]:
    path = tmp_path / "book.yaml"
    path.write_text(HEAD + text)
    with pytest.raises((BadInput, Several)) as caught:
        load_playbook(path)
    return list(caught.value.errors) if isinstance(caught.value, Several) else [caught.value]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("- {id: a, kind: sysctll, why: w}\n", "4:17", "did you mean sysctl"),
        ("- {id: a, why: w}\n", "4:3", "the key kind is missing"),
        ("- {id: a, kind: sysctl, why: w, valeus: {}}\n", "4:33", "did you mean values"),
        ("- {id: a, kind: sysctl, values: {a.b: 1}}\n", "4:3", "the key why is missing"),
        ("- {id: a, kind: file, why: w, path: a, content: x}\n", "4:37", "an absolute path"),
        ("- {id: a, kind: file, why: w, path: /a, content: x, mode: 644}\n", "4:59", "mode"),
        ("- {id: a, kind: file, why: w, path: /a}\n", "4:3", "either `content`, or `absent: true`"),
        ("- {id: a, kind: command, why: w, run: [x]}\n", "4:3", "one of `creates` and `unless`"),
        ("- {id: a, kind: command, why: w, run: x, creates: /a}\n", "4:39", "a list"),
        ("- {id: A b, kind: sysctl, why: w, values: {a.b: 1}}\n", "4:8", "lower-case words"),
        ("- {id: a, kind: sysctl, why: w, values: {a.b: 1}, when: {gpu: nvdia}}\n", "4:63", "did you mean nvidia"),
        ("- {id: a, kind: sysctl, why: w, values: {a.b: 1}, when: {gpus: nvidia}}\n", "4:58", "did you mean gpu"),
        ("- {id: a, kind: sysctl, why: w, values: {a.b: 1}, when: {given: sise}}\n", "4:65", "did you mean size"),
        ("- {id: a, kind: sysctl, why: w, values: {a.b: '{{kernal}}'}}\n", "4:8", "did you mean kernel"),
        (
            "- {id: a, kind: sysctl, why: w, values: {a.b: 1}, satisfies: [os.memlok]}\n",
            "4:62",
            "did you mean os.memlock",
        ),
        ("- {id: a, kind: sysctl, why: w, values: {a.b: 1}, follows: [b]}\n", "4:60", "an entry further up"),
        (GOOD + GOOD, "5:8", "stands here twice"),
        ("- {id: a, kind: package, why: w, packages: {'a b': '1'}}\n", "4:45", "the name of a package"),
        ("- {id: a, kind: package, why: w, packages: {a: '1; id'}}\n", "4:48", "a version"),
        ("- {id: a, kind: systemd_unit, why: w, unit: '-x.service', masked: true, running: true}\n", "4:3", "masked"),
        ("- {id: a, kind: reboot, why: w}\n", "4:3", "what it is for"),
        ("- {id: a, kind: user, why: w, name: '-o'}\n", "4:37", "a name of an account"),
        ("- {id: a, kind: kernel_module, why: w, module: 'a b'}\n", "4:48", "the name of a module"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, place: str, words: str) -> None:
    errors = said(tmp_path, text)
    told = "\n".join(map(str, errors))
    assert any(f"book.yaml:{place}:" in one.message for one in errors), told
    assert words in told


def test_an_entry_follows_none_of_a_later_phase(tmp_path: Path) -> None:
    unit = "- {id: u, kind: systemd_unit, why: w, unit: a.service, running: true}\n"
    errors = said(tmp_path, unit + GOOD.replace("why", "follows: [u], why"))
    assert "of no later phase" in errors[0].required + errors[0].message


def test_all_errors_of_a_file_come_together(tmp_path: Path) -> None:
    assert (
        len(said(tmp_path, "- {id: a, kind: x, why: w}\n- {id: b}\n- {id: c, kind: sysctl, values: {a.b: 1}}\n")) == 3
    )


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_a_playbook_that_comes_along_is_whole(name: str) -> None:
    book = load_playbook(find(name))
    assert book.entries
    for one in book.entries:
        assert set(one.satisfies) <= CHECKS.keys()
        assert named(one) <= {*VALUES, *book.settings}


def test_every_playbook_is_listed_and_every_kind_a_module() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(PLAYBOOKS)
    modules = {kind.__module__.rpartition(".")[2] for kind in KINDS}
    there = {path.stem for path in (FOLDER / "steps").glob("*.py")}
    assert modules <= there


def test_an_unknown_playbook_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match="did you mean tuning"):
        find("tunning")
