"""What commands of tuning.yaml do to files, tried on files of the test's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from inventory.facts import upkeep
from playbooks.schema import find, load_playbook
from playbooks.steps.command import Command
from tests.unit.playbooks.books.entries import step
from tests.unit.playbooks.sh import sh

AUTOMATIC = "/etc/dnf/automatic.conf"


def entry(name: str) -> Command:
    found = next(one for one in load_playbook(find("tuning")).entries if one.id == name)
    assert isinstance(found, Command)
    return found


def run(words: tuple[str, ...], path: Path) -> int:
    argv = [str(path) if word == AUTOMATIC else word for word in words]
    return subprocess.run(argv, check=False, capture_output=True).returncode


@pytest.mark.parametrize(
    "before",
    [
        "[commands]\napply_updates = yes\n[base]\ndebuglevel = 1\n",
        "[commands]\napply_updates = yes\n",
        "[base]\nexcludepkgs = php*\n",
        "[base]\nexclude=php*,zsh\n",
    ],
)
def test_dnf_automatic_leaves_drivers_and_kernels_alone_and_keeps_what_it_left_out(tmp_path: Path, before: str) -> None:
    path = tmp_path / "automatic.conf"
    path.write_text(before)
    one = entry("updates-rhel")
    assert one.unless
    assert run(one.unless, path) == 1
    assert run(one.run, path) == 0
    assert run(one.unless, path) == 0
    excluded = upkeep.parse_excluded(path.read_text())
    assert {"kernel*", "nvidia*", "amdgpu-dkms*"} <= set(excluded)
    assert ("php*" in excluded) == ("php*" in before)
    assert path.read_text().count("[base]") == 1


def test_where_there_is_no_dnf_automatic_nothing_is_done(tmp_path: Path) -> None:
    one = entry("updates-rhel")
    assert one.unless
    assert run(one.unless, tmp_path / "none") == 0


def test_apts_list_covers_the_families_that_the_check_asks_for() -> None:
    found = next(one for one in load_playbook(find("tuning")).entries if one.id == "updates-debian")
    said = upkeep.parse_excluded(getattr(found, "content", ""))
    assert {"nvidia-", "libnvidia-", "amdgpu-dkms", "linux-image"} <= set(said)


@pytest.mark.parametrize(
    ("told", "needed"), [("7.1.3", False), ("7.1.3.31500000", False), ("7.1.30", True), ("6.16.6", True), (None, True)]
)
def test_a_driver_that_tells_its_release_too_is_the_wanted_one(tmp_path: Path, told: str | None, needed: bool) -> None:  # noqa: FBT001
    """One that the kernel brought has no version at all."""
    module = tmp_path / "amdgpu"
    module.mkdir()
    if told:
        (module / "version").write_text(f"{told}\n")
    script = step("reboot", loaded_as={"amdgpu": "7.1.3"}).probe.replace("/sys/module", str(tmp_path))
    assert (sh(script).stdout == "not needed") is not needed
