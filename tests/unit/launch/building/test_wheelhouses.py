"""Which hosts are given their wheels, decided for a real recipe with a tiny lock and an index on loopback."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import BringupError, CheckFailed
from inventory.facts.host import HostFacts, Software, System
from inventory.fleet import Fleet
from inventory.schema import Host, Mirrors
from inventory.secret import Url
from launch.building import offline, wheelhouses
from launch.building.engine import Engine
from launch.building.wheelhouses import reach_script, supplied_engines
from launch.catalogue.find import Catalogue
from launch.choosing.outline import Outline, launched
from launch.console.report import Report
from launch.request import Request
from playbooks.wheelhouse import python
from playbooks.wheelhouse.python import MIRROR, build_for
from tests.unit.launch.gangs import facts, hosts
from tests.unit.playbooks.served import Page, Site, serving
from tests.unit.playbooks.sh import sh

CATALOGUE = Catalogue.of()
SOFTWARE = Software("252", None, None, None, "3.12.3", None, (), ())
SYSTEM = System("debian", "12", "debian", "6.1", "x86_64", "b", "tray1", "root", 0, can_sudo=True, clock_offset_s=0.0)
FILES = {"tiny": "tiny-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", "uv": "uv-9.0-py3-none-manylinux_2_17_x86_64.whl"}


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", f"{tmp_path}/cache")
    uv = f"uv==9.0 --hash=sha256:{sum_of(FILES['uv'])}\n"
    (tmp_path / "uv.txt").write_text(uv)
    monkeypatch.setattr(offline, "UV_LOCK", tmp_path / "uv.txt")


@pytest.fixture
def index() -> Iterator[Site]:
    with serving() as site:
        for name, file in FILES.items():
            told = {"filename": file, "url": f"/f/{file}", "size": len(file), "hashes": {"sha256": sum_of(file)}}
            body = json.dumps({"files": [told]}).encode()
            site.pages[f"/simple/{name}/"] = Page(body, kind="application/vnd.pypi.simple.v1+json")
        site.pages["/simple/pip/"] = Page(b"{}")
        yield site


def sum_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def gang(index: Site | None, **settings: Any) -> list[Host]:  # noqa: ANN401  (those of a host)
    mirrors = Mirrors(pypi=Url(f"{index.url}/simple") if index else None)
    return [one.model_copy(update={"transport": "local"}) for one in hosts(2, mirrors=mirrors, **settings)]


def told(members: list[Host], python: str = "3.12.3") -> dict[str, HostFacts]:
    seen = facts(members, [4, 4])
    software = replace(SOFTWARE, python=python)
    return {name: replace(one, software=software, system=SYSTEM, glibc="2.35") for name, one in seen.items()}


def outlined(members: list[Host], seen: dict[str, HostFacts]) -> Outline:
    """A real launch, whose environment has a lock of one package."""
    one = launched(CATALOGUE.find("deepseek-v4-pro"), Request("deepseek-v4-pro"), members, seen)
    lock = f"tiny==1.0 --hash=sha256:{sum_of(FILES['tiny'])}\n"
    tiny = {
        name: replace(engine, wanted=replace(engine.wanted, lock=lock))
        for name, engine in one.engines.items()
        if engine.wanted
    }
    return replace(one, engines=tiny)


def supplied(members: list[Host], python: str = "3.12.3") -> tuple[Outline, dict[str, Engine]]:
    seen = told(members, python)
    one = outlined(members, seen)
    with Fleet(members) as fleet:
        return one, dict(supplied_engines(one, fleet, seen, Report(quiet=True)))


def test_hosts_that_are_said_to_have_no_way_out_are_given_the_wheels(index: Site) -> None:
    before, after = supplied(gang(index, internet=False))
    for name, engine in after.items():
        ids = [step.id.partition(" ")[0] for step in engine.steps]
        assert ids.index("shipped") == ids.index("environment") - 1
        cargo = next(step.cargo for step in engine.steps if step.cargo)
        assert {one.name for one in cargo.files} == set(FILES.values())
        assert dict(cargo.addresses).keys() == {"tray1", "tray2"}
        assert cargo.size == sum(map(len, FILES.values()))
        assert [one.size for one in engine.downloads if one.purpose == "wheelhouse"] == [cargo.size]
        assert len(engine.steps) == len(before.engines[name].steps) + 1
    assert not [path for path in index.asked_paths() if path.startswith("/f/")], "a plan downloads no wheel"


@pytest.mark.parametrize("internet", [True, None])
def test_hosts_that_reach_the_index_use_it_themselves(index: Site, internet: bool | None) -> None:  # noqa: FBT001
    before, after = supplied(gang(index, internet=internet))
    assert after == dict(before.engines)


def test_a_host_says_itself_that_it_reaches_nothing() -> None:
    nowhere = Host(name="a", mirrors=Mirrors(pypi=Url("http://127.0.0.1:9/simple")))
    assert sh(reach_script(nowhere)).stdout.startswith("unreached ")


def test_a_host_with_sources_of_its_own_is_left_to_them() -> None:
    assert sh(f"export PIP_FIND_LINKS=/wheels\n{reach_script(Host(name='a'))}").stdout.strip() == "unknown"


def test_a_login_in_the_address_of_a_mirror_is_no_reason_to_call_it_unreached(index: Site) -> None:
    index.pages["/simple/pip/"] = Page(b"", status=403)
    one = Host(name="a", mirrors=Mirrors(pypi=Url(f"{index.url}/simple")))
    assert sh(reach_script(one)).stdout.strip() == "reached"


def test_hosts_without_a_python_of_the_range_are_given_one(index: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    build = build_for("x86_64", (11, 12, 13))
    assert build is not None
    monkeypatch.setenv(MIRROR, f"{index.url}/pythons")
    index.pages[f"/pythons/{build.path.replace('+', '%2B')}"] = Page(b"p" * 70)
    _, after = supplied(gang(index, internet=False), python="3.9.18")
    for engine in after.values():
        cargo = next(step.cargo for step in engine.steps if step.cargo)
        python = next(one for one in cargo.files if one.name == build.name)
        assert (python.size, python.sha256) == (70, build.sha256)
        made = next(step for step in engine.steps if step.id.startswith("environment "))
        assert f"python_archive={build.name}" in made.script
        assert cargo.folder.endswith(f"-cp3{build.minor}-x86_64")


def test_a_host_with_a_way_out_that_has_neither_python_nor_uv_is_given_both(
    index: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = build_for("x86_64", (11, 12, 13))
    assert build is not None
    monkeypatch.setenv(MIRROR, f"{index.url}/pythons")
    index.pages[f"/pythons/{build.path.replace('+', '%2B')}"] = Page(b"p")
    _, after = supplied(gang(index, internet=True), python="3.9.18")
    assert all(any(step.cargo for step in engine.steps) for engine in after.values())


def test_nobody_knows_where_python_is(index: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MIRROR, raising=False)
    monkeypatch.setattr(python, "_UVS", ())
    with pytest.raises(BringupError) as caught:
        supplied(gang(index, internet=False), python="3.9.18")
    assert "[python-offline]" in str(caught.value)
    assert "mirrors: python:" in caught.value.next_command


def test_a_machine_that_knows_no_index_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheelhouses, "own_indexes", tuple)
    with pytest.raises(CheckFailed) as caught:
        supplied(gang(None, internet=False))
    assert caught.value.id == "index-unknown"


def test_a_wheel_that_is_not_there_is_named_before_anything_is_changed(index: Site) -> None:
    del index.pages["/simple/tiny/"]
    with pytest.raises(CheckFailed) as caught:
        supplied(gang(index, internet=False))
    assert caught.value.id == "wheel-missing"


def test_hosts_of_unequal_glibc_are_given_what_the_oldest_can_install(index: Site) -> None:
    members = gang(index, internet=False)
    seen = told(members)
    seen["tray2"] = replace(seen["tray2"], glibc="2.26")
    with Fleet(members) as fleet, pytest.raises(CheckFailed) as caught:
        supplied_engines(outlined(members, seen), fleet, seen, Report(quiet=True))
    assert "glibc2.26" in caught.value.message
