from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.lab import state
from inventory.lab.state import Lab, LabHost


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BRINGUP_LAB_DIR", str(tmp_path / "labs"))
    return tmp_path / "labs"


@pytest.fixture
def lab(root: Path) -> Lab:  # noqa: ARG001  (where it lies)
    made = Lab(
        name="one",
        profile="gb200",
        simulated=True,
        boot_id=state.machine_boot_id(),
        networks=("198.18.0.0/24", "198.18.1.0/24"),
        leg="lab-c6120000",
        hosts=(LabHost("tray1", 1, "198.18.0.11", "198.18.1.11"),),
        binds=(("/source", "/place"),),
    )
    made.folder.mkdir(parents=True)
    state.save(made)
    return made


def test_a_lab_is_read_as_it_was_written(lab: Lab) -> None:
    assert state.load("one") == lab
    assert state.names() == ("one",)


def test_no_half_written_record_is_left(lab: Lab) -> None:
    assert [path.name for path in lab.folder.iterdir()] == ["lab.json"]


def test_places_of_a_lab(lab: Lab, root: Path) -> None:
    assert lab.inventory == root / "one/hosts.yaml"
    assert lab.disk("tray1") == root / "one/hosts/tray1/disk"


@pytest.mark.usefixtures("lab")
def test_an_unknown_lab_names_those_that_are_up() -> None:
    with pytest.raises(BadInput, match="no lab named two") as refused:
        state.load("two")
    assert refused.value.observed == "labs that are up: one"
    assert refused.value.next_command == "invoke lab.list"


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("name", ["", "../etc", "One", "1st", "a b", "a/b", "x" * 33, "-n"])
def test_a_name_that_could_be_a_path_or_an_option_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be the name of a lab"):
        state.load(name)


def test_a_lab_of_an_earlier_boot_did_not_survive(lab: Lab) -> None:
    assert lab.survived
    assert not dataclasses.replace(lab, boot_id="another").survived


def test_hosts_by_number_or_by_name() -> None:
    assert state.checked_hosts(2) == ("tray1", "tray2")
    assert state.checked_hosts(["gpu01", "gpu02"]) == ("gpu01", "gpu02")


@pytest.mark.parametrize("hosts", [0, -1, 201, [], ["a", "a"], ["A"], ["a b"], ["-a"], ["a-"], ["x" * 64], ["a.b"]])
def test_hosts_that_cannot_be(hosts: int | list[str]) -> None:
    with pytest.raises(BadInput, match="cannot be the hosts"):
        state.checked_hosts(hosts)


def test_the_folder_of_all_labs_goes_with_the_last_lab(root: Path) -> None:
    with state.locked() as folder:
        assert folder == root
    assert not root.exists()


@pytest.mark.usefixtures("lab")
def test_the_folder_stays_while_there_is_a_lab(root: Path) -> None:
    with state.locked():
        pass
    assert root.exists()


def _count_alone(counter: Path) -> None:
    for _ in range(20):
        with state.locked():
            value = int(counter.read_text())
            counter.write_text(str(value + 1))


@pytest.mark.usefixtures("root")
def test_one_process_at_a_time_although_the_folder_comes_and_goes(tmp_path: Path) -> None:
    """The lock is on a folder that its holder removes: whoever waited must not go on with the removed one."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    run: Callable[[Path], None] = _count_alone
    processes = [multiprocessing.get_context("fork").Process(target=run, args=(counter,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert counter.read_text() == "80"
