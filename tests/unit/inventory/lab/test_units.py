from __future__ import annotations

import os
from pathlib import Path

import pytest

from inventory.errors import CheckFailed
from inventory.lab import cgroups, prerequisites, units
from inventory.lab.process import Pid
from inventory.lab.state import Lab, LabHost

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="trusted attributes take root")
HOST = LabHost("tray1", 1, "198.18.0.11", "198.18.1.11")
LAB = Lab("one", "cpu", False, "boot", ("198.18.0.0/24", "198.18.1.0/24"), "leg", (HOST,))  # noqa: FBT003


@as_root
def test_only_sshd_is_enabled_and_nothing_of_this_machine(tmp_path: Path) -> None:
    units.write_units(tmp_path)
    system = tmp_path / "etc/systemd/system"
    assert [path.name for path in (system / "multi-user.target.wants").iterdir()] == ["lab-sshd.service"]
    assert (system / "multi-user.target.wants/lab-sshd.service").resolve() == system / "lab-sshd.service"
    for name in ("etc/systemd", "etc/init.d", "etc/rc3.d"):
        assert os.getxattr(tmp_path / name, "trusted.overlay.opaque") == b"y"
    assert (system / "getty.target").readlink() == Path("/dev/null")


def hierarchy(top: Path, *, controllers: str = "") -> None:
    """Folders that look like control groups: each has its two files."""
    for path in (top, top / cgroups.TOP, top / cgroups.TOP / "one"):
        path.mkdir(exist_ok=True)
        (path / "cgroup.controllers").write_text(controllers)
        (path / "cgroup.subtree_control").write_text("")


def test_a_hosts_group_gets_the_controllers_that_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "mount", lambda: tmp_path)
    hierarchy(tmp_path, controllers="memory\n")
    assert cgroups.make(LAB, HOST) == tmp_path / "bringup-lab/one/tray1"
    for above in ("bringup-lab", "bringup-lab/one"):
        assert (tmp_path / above / "cgroup.subtree_control").read_text() == "+memory"


def test_groups_are_removed_deepest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "mount", lambda: tmp_path)
    (tmp_path / "bringup-lab/one/tray1/system.slice/a.service").mkdir(parents=True)
    assert cgroups.remove(LAB) == ["control groups"]
    assert list(tmp_path.iterdir()) == []
    assert cgroups.remove(LAB) == []


def test_groups_of_another_lab_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "mount", lambda: tmp_path)
    for name in ("one", "two"):
        (tmp_path / "bringup-lab" / name / "tray1").mkdir(parents=True)
    cgroups.remove(LAB)
    assert [path.name for path in (tmp_path / "bringup-lab").iterdir()] == ["two"]


def test_a_group_in_use_is_reported_not_waited_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "mount", lambda: tmp_path)
    monkeypatch.setattr(cgroups, "REMOVE_S", 0.1)
    (tmp_path / "bringup-lab/one/tray1").mkdir(parents=True)
    (tmp_path / "bringup-lab/one/tray1/busy").write_text("")  # as rmdir sees a group with a process
    assert cgroups.remove(LAB) == ["control groups of one (some are still in use)"]


def test_the_program_that_waits_for_a_host_leaves_its_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "mount", lambda: tmp_path)
    own = Pid.of(os.getpid())
    assert own is not None
    cgroups.move_parent_out(own)
    assert (tmp_path / "cgroup.procs").read_text() == str(os.getppid())


def test_systemd_hosts_need_control_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(prerequisites, "PACKAGES", {})
    monkeypatch.setattr(cgroups, "mount", lambda: None)
    with pytest.raises(CheckFailed, match="no systemd for lab hosts"):
        prerequisites.check(systemd=True)
    with pytest.raises(CheckFailed, match="control groups of their own"):
        cgroups.of(LAB, HOST)
