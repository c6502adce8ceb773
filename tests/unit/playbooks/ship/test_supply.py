"""Files from here to one host and from there to the others: real shells and servers, all on this machine."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.errors import BringupError, ChangeFailed
from inventory.fleet import Fleet
from inventory.schema import Host
from playbooks.apply import apply
from playbooks.cargo import Cargo, CargoFile
from playbooks.plan import ABSENT, FORMAT_VERSION, Change, Plan, changes_for
from playbooks.probes import probe_script, read_states
from playbooks.ship import scripts, supply
from playbooks.ship.scripts import read_served
from playbooks.steps.shipped import shipped
from playbooks.wheelhouse.store import Store, default_folder
from tests.unit.playbooks.served import Page, Site, serving
from tests.unit.playbooks.sh import sh
from tests.unit.playbooks.test_apply import Notes

CONTENT = {"a-1-py3-none-any.whl": os.urandom(700_000), "b.whl": b"", "uv+x.whl": os.urandom(10)}


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        found.pages |= {f"/{name}": Page(data) for name, data in CONTENT.items()}
        yield found


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", f"{tmp_path}/cache")


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet([Host(name=n, transport="local", state_dir=f"{tmp_path}/{n}-state") for n in ("a", "b", "c")]) as fleet:
        yield fleet


def cargo(fleet: Fleet, host: str, site: Site, address: str = "127.0.0.1") -> Cargo:
    state = fleet.state_dirs[host]
    files = tuple(CargoFile(n, len(d), hashlib.sha256(d).hexdigest(), f"{site.url}/{n}") for n, d in CONTENT.items())
    addresses = tuple((name, address) for name in fleet.hosts) if address else ()
    return Cargo(f"{state}/wheelhouses/x", f"{state}/incoming/x", files, addresses)


def plan(fleet: Fleet, site: Site, address: str = "127.0.0.1") -> Plan:
    changes: list[Change] = []
    for host in fleet.hosts:
        step = shipped(cargo(fleet, host, site, address), what="test files", why="test", alone=True)
        changes += changes_for(host, [step], read_states([step], sh(probe_script([step])).stdout))
    return Plan(FORMAT_VERSION, "d", "g", "x", tuple(fleet.hosts), (), tuple(changes))


def carry_out(made: Plan, fleet: Fleet) -> list[str]:
    notes = Notes([], [])
    apply(made, fleet, run=f"r{time.monotonic_ns()}", state_dirs=fleet.state_dirs, progress=notes)
    return notes.lines


def whole(fleet: Fleet, host: str) -> bool:
    folder = Path(fleet.state_dirs[host]) / "wheelhouses/x"
    return all((folder / name).read_bytes() == data for name, data in CONTENT.items())


def listeners() -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def test_every_host_has_every_byte_and_the_index_was_asked_once(fleet: Fleet, site: Site, tmp_path: Path) -> None:
    Path(fleet.state_dirs["b"], "wheelhouses/an earlier one").mkdir(parents=True)
    carry_out(plan(fleet, site), fleet)
    assert all(whole(fleet, host) for host in fleet.hosts)
    assert sorted(site.asked_paths()) == sorted(f"/{name}" for name in CONTENT)
    assert plan(fleet, site).empty
    assert os.listdir(Path(fleet.state_dirs["b"], "wheelhouses")) == ["x"]  # noqa: PTH208
    for host in fleet.hosts:
        assert not list(Path(fleet.state_dirs[host], "incoming").iterdir()), "neither parts nor secrets are left"
    assert f"{tmp_path}/a-state/incoming" not in listeners(), "nobody lends any more"


def test_a_host_that_is_done_and_has_removed_its_files_lends_them_still(
    fleet: Fleet, site: Site, tmp_path: Path
) -> None:
    """As an image's archive, which goes when it is loaded: the others may not have begun."""
    made, done = plan(fleet, site), tmp_path / "a is done"
    loaded = f"rm -rf -- '{fleet.state_dirs['a']}/wheelhouses'; : >'{done}'"
    waits = f"for _ in $(seq 400); do [ -e '{done}' ] && break; sleep 0.05; done"
    changes = (
        replace(one, script=f"{one.script}\n{loaded}", after=ABSENT)
        if one.host == "a"
        else replace(one, script=f"{waits}\n{one.script}")
        for one in made.changes
    )
    carry_out(replace(made, changes=tuple(changes)), fleet)
    assert done.exists()
    assert whole(fleet, "b")
    assert whole(fleet, "c")


def test_a_lender_that_dies_is_told_and_the_same_command_goes_on(fleet: Fleet, site: Site, tmp_path: Path) -> None:
    made = plan(fleet, site)
    died = f"kill \"$(cut -d ' ' -f 1 {fleet.state_dirs['a']}/incoming/x.server)\""
    gone = f"for _ in $(seq 400); do [ -e '{tmp_path}/gone' ] && break; sleep 0.05; done"
    changes = (
        replace(
            one, script=f"{died}; : >'{tmp_path}/gone'\n{one.script}" if one.host == "a" else f"{gone}\n{one.script}"
        )
        for one in made.changes
    )
    with pytest.raises(BringupError, match="ship-failed") as caught:
        carry_out(replace(made, changes=tuple(changes)), fleet)
    assert "the other host stopped giving them" in str(caught.value)
    carry_out(plan(fleet, site), fleet)
    assert all(whole(fleet, host) for host in fleet.hosts)


@pytest.mark.parametrize("address", ["", "192.0.2.1"])
def test_hosts_that_do_not_reach_the_first_get_everything_from_here(fleet: Fleet, site: Site, address: str) -> None:
    lines: list[str] = []
    notes = Notes([], lines)
    apply(plan(fleet, site, address), fleet, run="r", state_dirs=fleet.state_dirs, progress=notes)
    assert all(whole(fleet, host) for host in fleet.hosts)
    assert any("b, c cannot fetch from a" in line for line in lines)


def test_what_came_before_is_not_sent_again(fleet: Fleet, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """One host has a half of one file, another has all: the whole one lends, and the index is not asked at all."""
    name = "a-1-py3-none-any.whl"
    for host, size in (("b", len(CONTENT[name])), ("c", 300_000)):
        incoming = Path(fleet.state_dirs[host], "incoming/x")
        incoming.mkdir(parents=True)
        (incoming / name).write_bytes(CONTENT[name][:size])
        for other in ("b.whl", "uv+x.whl"):
            (incoming / other).write_bytes(CONTENT[other])
    sent: list[str] = []
    monkeypatch.setattr(supply, "_send", lambda transport, *_: sent.append(transport.host))
    carry_out(plan(fleet, site), fleet)
    assert all(whole(fleet, host) for host in fleet.hosts)
    assert (site.asked, sent) == ([], [])


@pytest.mark.parametrize("slip", ["changed", "shorter", "longer"])
def test_a_file_that_is_wrong_on_a_host_is_thrown_away_and_the_next_run_mends_it(
    fleet: Fleet, site: Site, slip: str
) -> None:
    name = "a-1-py3-none-any.whl"
    wrong = {"changed": b"x" + CONTENT[name][1:], "shorter": b"x" * 1000, "longer": CONTENT[name] + b"x"}[slip]
    incoming = Path(fleet.state_dirs["a"], "incoming/x")
    incoming.mkdir(parents=True)
    (incoming / name).write_bytes(wrong)
    if slip != "longer":  # a file that is too long is seen when sizes are asked, and sent anew at once
        with pytest.raises(BringupError) as caught:
            carry_out(plan(fleet, site), fleet)
        assert caught.value.id == "checksum-mismatch"
        assert name in str(caught.value)
        assert not Path(fleet.state_dirs["a"], "wheelhouses").exists()
    carry_out(plan(fleet, site), fleet)
    assert all(whole(fleet, host) for host in fleet.hosts)


def test_what_nobody_listed_does_not_stay_in_the_folder(fleet: Fleet, site: Site) -> None:
    incoming = Path(fleet.state_dirs["a"], "incoming/x")
    incoming.mkdir(parents=True)
    (incoming / "evil-9-py3-none-any.whl").write_text("x")
    (incoming / ".hidden").write_text("x")
    carry_out(plan(fleet, site), fleet)
    listed = {path.name for path in Path(fleet.state_dirs["a"], "wheelhouses/x").iterdir()}
    assert listed == {*CONTENT, "MANIFEST", ".bringup-cargo"}


def test_a_host_without_room_is_told_before_anything_is_sent(fleet: Fleet, site: Site) -> None:
    made = plan(fleet, site)
    changes = tuple(
        replace(one, cargo=replace(one.cargo, files=(CargoFile("a", 1 << 60, "0" * 64, f"{site.url}/a"),)))
        for one in made.changes
        if one.cargo
    )
    with pytest.raises(BringupError) as caught:
        carry_out(replace(made, changes=changes), fleet)
    assert caught.value.id == "ship-space"
    assert not site.asked


def test_a_folder_that_cannot_be_made_is_told(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with (
        Fleet([Host(name="a", transport="local", state_dir=f"{tmp_path}/file/x")]) as fleet,
        pytest.raises(ChangeFailed) as caught,
    ):
        carry_out(plan(fleet, site), fleet)
    assert caught.value.id == "ship-failed"


def test_a_lender_tells_its_files_to_nobody_else(fleet: Fleet, site: Site, tmp_path: Path) -> None:
    incoming = tmp_path / "lent"
    incoming.mkdir()
    (incoming / "file").write_text("content")
    (incoming / ".source").write_text("secret")
    (tmp_path / "outside").write_text("outside")
    one = replace(cargo(fleet, "a", site), incoming=str(incoming))
    served = sh(scripts.serve_script(one, "the-secret", ["127.0.0.1", "192.0.2.1"]))
    try:
        ((address, port),) = read_served(served.stdout)

        def ask(path: str) -> str:
            with socket.create_connection((address, port), 5) as connection:
                connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
                return connection.makefile("rb").read().decode(errors="replace")

        assert ask("/the-secret/file").endswith("content")
        for path in ("/file", "/wrong/file", "/", "/the-secret/../outside", "/the-secret/.source", "//file",
                     "/the-secret/no"):  # fmt: skip
            assert " 404 " in ask(path), path
        assert "the-secret" not in listeners()
    finally:
        sh(scripts.end_script(one))


def test_names_that_could_be_read_otherwise_are_refused() -> None:
    for name in ("", ".hidden", "-n", "a b", "a/b", "a\nb", "a'b", "ä", "$(x)"):
        with pytest.raises(ValueError, match="not the name"):
            _ = Cargo("/f", "/i", (CargoFile(name, 1, "0" * 64, "/x"),)).manifest


def test_the_store_of_this_machine_lies_where_it_is_told(tmp_path: Path) -> None:
    assert Store(Path("/x")).path(CargoFile("n", 1, "s", "http://x/")) == Path("/x/s/n")
    assert default_folder() == tmp_path / "cache/bringup/files"
