"""Python as an archive: pinned, and found where an operator, uv's setting or uv itself says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inventory.errors import CheckFailed
from playbooks.environments import environment_names, load_environment
from playbooks.web import Web
from playbooks.wheelhouse import python
from playbooks.wheelhouse.python import MIRROR, PythonBuild, build_for, builds, python_file
from tests.unit.playbooks.served import Page, serving

BUILD = PythonBuild(12, "x86_64", "20990101/cpython-3.12.9+20990101-x86_64-unknown-linux-gnu.tar.gz", "0" * 64)
QUOTED = "/20990101/cpython-3.12.9%2B20990101-x86_64-unknown-linux-gnu.tar.gz"


def test_what_is_pinned_suits_every_environment() -> None:
    assert {one.machine for one in builds()} == {"x86_64", "aarch64"}
    for name in environment_names():
        distribution, _, version = name.rpartition("-")
        minors = load_environment(distribution, version).python_minors
        assert all(build_for(machine, minors) for machine in ("x86_64", "aarch64"))
    assert build_for("riscv64", (12,)) is None
    assert build_for("x86_64", (9,)) is None


def test_a_line_that_pins_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("# a comment\n\nabc  20990101/cpython-3.12.9+1-x86_64-unknown-x.tar.gz\n")
    with pytest.raises(ValueError, match="not a pinned build"):
        builds(tmp_path / "lock")


def test_the_mirror_of_the_inventory_goes_before_the_setting_of_uv() -> None:
    with serving() as site:
        site.pages[f"/mine{QUOTED}"] = Page(b"four")
        for mirror, environ in (
            (f"{site.url}/mine/", {MIRROR: "http://127.0.0.1:9"}),
            (None, {MIRROR: f"{site.url}/mine"}),
        ):
            found = python_file(BUILD, mirror, Web(), environ)
            assert (found.name, found.size, found.sha256) == (BUILD.name, 4, BUILD.sha256)
            assert found.origin == f"{site.url}/mine{QUOTED}"


def test_a_folder_is_a_mirror_too(tmp_path: Path) -> None:
    path = tmp_path / BUILD.path
    path.parent.mkdir()
    path.write_bytes(b"five!")
    assert python_file(BUILD, None, Web(), {MIRROR: f"file://{tmp_path}"}).origin == str(path)
    assert python_file(BUILD, None, Web(), {MIRROR: str(tmp_path)}).size == 5
    path.unlink()
    with pytest.raises(CheckFailed) as caught:
        python_file(BUILD, None, Web(), {MIRROR: str(tmp_path)})
    assert caught.value.observed == f"no file {path}"


def test_else_it_is_where_the_uv_of_this_machine_would_fetch_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as site:
        site.pages[QUOTED] = Page(b"six bytes")
        told = [{"url": f"{site.url}/other"}, {"url": f"{site.url}{QUOTED}"}, {"url": None}]
        uv = tmp_path / "uv"
        uv.write_text(f"#!/bin/sh\necho '{json.dumps(told)}'\n")
        uv.chmod(0o755)
        monkeypatch.setattr(python, "_UVS", ("/nowhere/uv", str(uv)))
        assert python_file(BUILD, None, Web(), {}).size == 9
        uv.write_text("#!/bin/sh\necho '[]'\n")
        with pytest.raises(CheckFailed) as caught:
            python_file(BUILD, None, Web(), {})
        assert caught.value.id == "python-offline"


def test_a_mirror_that_does_not_have_it_says_so() -> None:
    with serving() as site, pytest.raises(CheckFailed) as caught:
        python_file(BUILD, site.url, Web(wait_s=0.01), {})
    assert "404" in caught.value.observed
