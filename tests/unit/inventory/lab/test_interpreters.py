from __future__ import annotations

from pathlib import Path

import pytest

from inventory.lab import interpreters


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that hosts do not see, and no interpreter of our own that would have to be shown."""
    monkeypatch.setattr(interpreters, "hidden_by_image", lambda path: path.is_relative_to(tmp_path))
    return tmp_path


def environment(folder: Path, home: Path) -> Path:
    folder.mkdir()
    (folder / "pyvenv.cfg").write_text(f"home = {home}\nversion_info = 3.12.1\n")
    return folder


def interpreter(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python3").touch()
    return folder


def test_the_interpreter_that_an_environment_was_made_from(outside: Path) -> None:
    python = interpreter(outside / "pythons/3.12.1")
    made = environment(outside / "env", python / "bin")
    assert interpreters.prefixes([made]) == (python,)


def test_both_names_of_an_interpreter_behind_a_symlink(outside: Path) -> None:
    python = interpreter(outside / "pythons/cpython-3.12.1")
    (outside / "pythons/cpython-3.12").symlink_to(python)
    made = environment(outside / "env", outside / "pythons/cpython-3.12/bin")
    assert interpreters.prefixes([made]) == (outside / "pythons/cpython-3.12", python)


def test_an_interpreter_is_shown_once(outside: Path) -> None:
    python = interpreter(outside / "pythons/3.12.1")
    made = [environment(outside / name, python / "bin") for name in ("one", "two")]
    assert interpreters.prefixes(made) == (python,)


@pytest.mark.parametrize("home", ["/usr/bin", "relative/bin", "/nowhere/bin"])
def test_nothing_for_an_interpreter_that_hosts_see_or_that_is_not_there(outside: Path, home: str) -> None:
    assert interpreters.prefixes([environment(outside / "env", Path(home))]) == ()


def test_a_folder_that_is_no_environment(outside: Path) -> None:
    assert interpreters.prefixes([outside]) == ()


def test_our_own_interpreter_is_a_program_outside_a_virtual_environment() -> None:
    own = interpreters.own()
    assert own.is_file()
    assert not (own.parent.parent / "pyvenv.cfg").exists()
