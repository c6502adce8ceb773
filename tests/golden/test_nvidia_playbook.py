"""What the playbook `nvidia` would do to hosts without a driver, as text that is reviewed."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.errors import CheckFailed
from inventory.facts.base import is_known
from inventory.facts.host import Driver, Fabric, RdmaDevice, Software
from playbooks.phase_script import phase_script
from playbooks.plan import changes_for
from playbooks.repositories.source import Source
from playbooks.requirements import Build
from playbooks.schema import find, load_playbook
from playbooks.situation import Situation
from playbooks.wanted import Wanted, settings_of, wanted_on
from tests.unit.playbooks.books.test_bare_hosts import B200, GB200, H200, V100, bare
from tests.unit.playbooks.checks.gang import gang_needs
from tests.unit.playbooks.repositories.keys import FINGERPRINT, TEXT

FOLDER = Path(__file__).parent / "nvidia"
BOOK = load_playbook(find("nvidia"))
SOURCES = {
    name: Source(name, f"https://mirror.test/{name}", None, FINGERPRINT, TEXT) for name in ("cuda", "nvidia_container")
}
SOFTWARE = Software("255", None, "28.1", None, "3.12", None, (), ())


def host(devices: tuple[str, ...], profile: str, system: str, *, switches: int = 0, **typed: str) -> Situation:
    facts = bare(*devices)
    assert is_known(facts.system)
    name, _, version = system.partition("-")
    arm = profile.startswith("g")
    rocky = "5.14.0-503.31.1.el9_5.x86_64"
    kernel = (
        rocky
        if name == "rocky"
        else "6.8.0-31-generic"
        if name == "ubuntu"
        else f"6.1.0-18-{'arm64' if arm else 'amd64'}"
    )
    return Situation(
        replace(
            facts,
            system=replace(
                facts.system,
                id=name,
                version=version,
                family="rhel" if name == "rocky" else "debian",
                kernel=kernel,
                architecture="aarch64" if arm else "x86_64",
            ),
            fabric=Fabric("absent", None, "absent", (), (), switches),
            rdma=(RdmaDevice("mlx5_0", driver="mlx5_core"),),
            driver=Driver(next_kernel=kernel.replace("-31", "-40")),
            software=SOFTWARE,
        ),
        profile,
        settings=settings_of([BOOK], typed)["nvidia"],
        sources=SOURCES,
    )


HOSTS = {
    "hgx-h200-ubuntu": host((H200,) * 8, "h200", "ubuntu-24.04", switches=4),
    "hgx-b200-ubuntu": host((B200,) * 8, "b200", "ubuntu-22.04", gpudirect="peermem"),
    "gb200-tray-debian": replace(
        host((GB200,) * 4, "gb200", "debian-12", container_repository="own"),
        needs=replace(gang_needs(), mnnvl=True, build=Build(packages=(("torch", "2.14"),)), container=None),
    ),
    "l4-ubuntu": host(("27b8",), "l4", "ubuntu-24.04", container_toolkit="1.18.0-1", downgrade="yes"),
    "hgx-h200-rocky": host((H200,) * 8, "h200", "rocky-9.6", switches=4),
    "h200-precompiled": host((H200,) * 8, "h200", "ubuntu-24.04", build="precompiled", driver="580.173.02", switches=4),
}


def wanted(name: str) -> Wanted:
    return wanted_on([BOOK], {"nvidia": HOSTS[name]})


def shown(found: Wanted) -> str:
    steps = [f"{step.phase:10}{step.id.partition('/')[2]}: {step.summary}" for step in found.steps]
    return "\n".join([*steps, *(f"left out  {one.step}: {one.reason}" for one in found.left_out)]) + "\n"


@pytest.mark.parametrize("name", HOSTS)
def test_the_steps_are_the_reviewed_ones(name: str) -> None:
    golden, text = FOLDER / f"{name}.txt", shown(wanted(name))
    if os.environ.get("BRINGUP_WRITE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


def test_a_driver_never_comes_twice_and_a_tray_has_no_fabric_manager() -> None:
    for name, at in HOSTS.items():
        ids = [step.id.partition("/")[2] for step in wanted(name).steps]
        assert len([one for one in ids if one.startswith("driver-") and one != "driver-loaded"]) == 1, name
        assert ("fabric-manager-runs" in ids) == (at.has("nvswitch") is True), name
        assert len([one for one in ids if one.startswith("fabric-manager")]) in {0, 2}, name
        assert ("no-fabric-manager" in ids) == ("imex" in ids) == (at.hardware == "gb200"), name


def test_all_that_must_be_of_the_drivers_version_is() -> None:
    for name, at in HOSTS.items():
        versions = (f"{at.settings['driver']}-*", f"3:{at.settings['driver']}-*")
        said = {step.id: step.wanted for step in wanted(name).steps if step.wanted.startswith(("nvidia", "libnvidia"))}
        for one in said.values():
            assert all(part.partition("=")[2].startswith((*versions, "*", "1.18")) for part in one.split()), (name, one)


def test_gpus_that_no_driver_of_it_knows_are_refused() -> None:
    steps = wanted_on([BOOK], {"nvidia": host((V100, V100), "unknown", "debian-12")}).steps
    step = next(step for step in steps if step.id == "nvidia/too-old")
    done = subprocess.run(["sh"], input=step.probe, capture_output=True, text=True, check=True)
    with pytest.raises(CheckFailed) as caught:
        changes_for("h", [step], {step.id: done.stdout})
    assert caught.value.id == "gpu-too-old"
    assert not [step for step in steps if step.id.startswith("nvidia/driver-") and step.phase == "install"]


@pytest.mark.parametrize("name", HOSTS)
def test_its_scripts_can_be_read_by_sh(name: str) -> None:
    steps = wanted(name).steps
    changes = changes_for("h", steps, {step.id: "something else" for step in steps})
    phases = dict.fromkeys(step.phase for step in steps)
    texts = [phase_script([one for one in changes if one.phase is phase]) for phase in phases]
    for text in [*texts, *(step.probe for step in steps)]:
        done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
