"""Locks that must not stay: of a run that is interrupted, on a full disk, with an owner that nobody can read."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from inventory.errors import ChangeFailed, Locked
from inventory.fleet import Fleet
from inventory.schema import Host
from playbooks import control
from playbooks.control import locked, this_run, unlock
from playbooks.lock import Owner, acquire_script, is_stale
from tests.unit.playbooks.sh import sh

if TYPE_CHECKING:
    from inventory.transport.base import Transport

HOSTS = ("one", "two")


@pytest.fixture
def state_dirs(tmp_path: Path) -> dict[str, str]:
    return {host: str(tmp_path / host) for host in HOSTS}


@pytest.fixture
def fleet(state_dirs: dict[str, str]) -> Iterator[Fleet]:
    hosts = [Host(name=name, address=name, transport="local", state_dir=path) for name, path in state_dirs.items()]
    with Fleet(hosts) as made:
        yield made


def holder(state_dir: str) -> str:
    path = Path(state_dir) / "lock" / "owner"
    return path.read_text() if path.exists() else ""


def audit(state_dir: str) -> str:
    path = Path(state_dir) / "audit.log"
    return path.read_text() if path.exists() else ""


def interrupted(_: Transport) -> NoReturn:
    raise KeyboardInterrupt


def test_ctrl_c_in_the_middle_of_work_on_the_hosts_gives_the_locks_back(
    fleet: Fleet, state_dirs: dict[str, str]
) -> None:
    """The logins are gone by then."""
    with pytest.raises(KeyboardInterrupt), locked(fleet, HOSTS, this_run("deploy trial"), state_dirs):
        fleet.each(interrupted)
    assert not any(holder(path) for path in state_dirs.values())
    assert all("KeyboardInterrupt" in audit(path) for path in state_dirs.values())


@pytest.mark.parametrize("field", ["control", "machine_id"])
def test_only_a_run_of_this_very_machine_can_be_known_to_be_dead(field: str) -> None:
    """Another machine of the same name has other pids and other boots: its live lock would be taken for a stale one."""
    me = this_run("deploy trial")
    rebooted = asdict(replace(me, boot_id="of an earlier boot"))
    assert is_stale(Owner(**rebooted), me, control._process_started)
    assert not is_stale(Owner(**{**rebooted, field: "another"}), me, control._process_started)


CANNOT_WRITE = "trap '' XFSZ; ulimit -f 0\n"
"""Folders and empty files can be made, nothing can be written: so does a disk that is full."""


def test_a_lock_that_cannot_be_signed_is_not_left_behind(state_dirs: dict[str, str]) -> None:
    failed = sh(CANNOT_WRITE + acquire_script(this_run("deploy trial"), state_dir=state_dirs["one"]))
    assert failed.returncode != 0
    assert "Avail" in failed.stderr, "how full the disk is"
    assert not list(Path(state_dirs["one"]).iterdir())


@pytest.mark.parametrize("left", ["owner.new", "owner"])
def test_a_lock_that_somebody_died_over_while_signing_is_taken_over(
    fleet: Fleet, state_dirs: dict[str, str], left: str
) -> None:
    lock = Path(state_dirs["one"]) / "lock"
    lock.mkdir(parents=True)
    (lock / left).touch()
    os.utime(lock, (time.time() - 300,) * 2)
    with locked(fleet, ("one",), this_run("deploy trial"), state_dirs):
        assert holder(state_dirs["one"])


LEFT_BY_ANOTHER_VERSION = json.dumps({**asdict(this_run("deploy trial")), "unheard_of": 1})


@pytest.mark.parametrize("owner", ["", "{", LEFT_BY_ANOTHER_VERSION, "not json at all\n"])
def test_what_locks_out_can_be_unlocked(fleet: Fleet, state_dirs: dict[str, str], owner: str) -> None:
    """Whatever stands in it: the refusal says `invoke unlock`, and that must then help."""
    lock = Path(state_dirs["one"]) / "lock"
    lock.mkdir(parents=True)
    (lock / "owner").write_text(owner)
    with pytest.raises(Locked), locked(fleet, ("one",), this_run("deploy trial"), state_dirs):
        pass
    broken = unlock(fleet, state_dirs)
    assert broken["one"]
    assert broken["two"] == ""
    assert not (Path(state_dirs["two"]) / "audit.log").exists()
    audit = (Path(state_dirs["one"]) / "audit.log").read_text()
    assert re.search(r"Z \S+@\S+ run [0-9a-f]{8} unlock of run ([0-9a-f]{8}|that nobody signed): done\n$", audit)
    with locked(fleet, ("one",), this_run("deploy trial"), state_dirs):
        pass


def test_a_stop_goes_on_where_no_lock_can_be_written_and_holds_those_that_can(
    fleet: Fleet, state_dirs: dict[str, str]
) -> None:
    """A full disk must not keep ranks running."""
    Path(state_dirs["one"]).write_text("in the way: no folder can be made here")
    told: list[str] = []
    with locked(fleet, HOSTS, this_run("stop trial"), state_dirs, unlockable=lambda error: told.append(error.host)):
        assert told == ["one"]
        assert "stop trial" in holder(state_dirs["two"])
    assert not holder(state_dirs["two"])
    with pytest.raises(ChangeFailed), locked(fleet, HOSTS, this_run("deploy trial"), state_dirs):
        pass
    assert not holder(state_dirs["two"]), "a deploy has all locks or none"


def test_somebody_elses_lock_stops_a_stop_too(fleet: Fleet, state_dirs: dict[str, str]) -> None:
    Path(state_dirs["one"], "lock").mkdir(parents=True)
    Path(state_dirs["one"], "lock/owner").write_text(replace(this_run("x"), control="elsewhere").to_line())
    told: list[str] = []
    with (
        pytest.raises(Locked),
        locked(fleet, HOSTS, this_run("stop trial"), state_dirs, unlockable=lambda error: told.append(error.host)),
    ):
        pass
    assert told == []
