"""Images on a host, in a real shell, with a SIMULATED docker (there is no daemon here)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from playbooks.cargo import Cargo
from playbooks.images.archive import read_archive
from playbooks.images.image import Image
from playbooks.images.reference import parse_reference
from playbooks.plan import Step
from playbooks.probes import probe_script, read_states
from playbooks.steps.image import loaded_image, local_name, pulled_image
from tests.unit.playbooks.images.archives import LAYERS, docker_save

SIMULATED = Path(__file__).parents[3] / "simulated_docker.py"
DIGEST = "sha256:" + "d" * 64
REFERENCE = parse_reference("vllm/vllm-openai:kimi-k31")
IMAGE = Image(DIGEST, LAYERS, ("linux/amd64",), 9_000_000_000)


@dataclass(frozen=True, slots=True)
class Machine:
    folder: Path

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "SIMULATED_DOCKER": f"{self.folder}/docker"}
        return subprocess.run(
            ["/bin/sh", "-eu"], input=script, env=env, capture_output=True, text=True, check=False, timeout=60
        )

    def state(self, step: Step) -> str:
        return read_states([step], self.run(probe_script([step])).stdout)[step.id]

    def holds(self, name: str, layers: tuple[str, ...] = LAYERS) -> None:
        """The registry has it."""
        image = {
            "Id": f"sha256:{hashlib.sha256(json.dumps(layers).encode()).hexdigest()}",
            "RootFS": {"Type": "layers", "Layers": list(layers)},
            "Os": "linux",
            "Architecture": "amd64",
            "Size": 1,
        }
        (self.folder / "docker").mkdir(exist_ok=True)
        (self.folder / "docker/remote.json").write_text(json.dumps({name: image}))

    def typed(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.folder / "docker/log").read_text().splitlines()]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "bin").mkdir()
    docker = tmp_path / "bin/docker"
    docker.write_text(f"#!{os.path.realpath(sys.executable)}\n{SIMULATED.read_text()}")
    docker.chmod(0o755)
    return Machine(tmp_path)


def test_an_image_is_pulled_by_digest_and_kept_under_a_name_of_ours(machine: Machine) -> None:
    machine.holds(f"reg.example:5000/cache/vllm/vllm-openai@{DIGEST}")
    step = pulled_image(REFERENCE, IMAGE, engine="docker", mirror="reg.example:5000/cache")
    assert machine.state(step) == "absent"
    assert "9.00 GB" in step.summary

    made = machine.run(step.script)

    assert made.returncode == 0, made.stderr
    assert machine.state(step) == step.wanted
    assert ["pull", f"reg.example:5000/cache/vllm/vllm-openai@{DIGEST}"] in machine.typed()
    assert local_name(REFERENCE, IMAGE) == "bringup/vllm-openai:dddddddddddd"
    assert not any(words[0] in {"rm", "rmi", "prune"} or "prune" in words for words in machine.typed()), "all stay"


def test_a_pull_that_fails_says_so_by_name(machine: Machine) -> None:
    step = pulled_image(REFERENCE, IMAGE, engine="docker")
    failed = machine.run(step.script)
    assert failed.returncode != 0
    assert failed.stdout.splitlines()[-1].startswith("outcome\timage-pull vllm/vllm-openai:kimi-k31@sha256:")
    assert machine.state(step) == "absent"


def test_a_daemon_that_does_not_answer_is_unreadable_and_not_absent(machine: Machine) -> None:
    (machine.folder / "docker").mkdir()
    (machine.folder / "docker/broken").touch()
    state = machine.state(pulled_image(REFERENCE, IMAGE, engine="docker"))
    assert state.startswith("unreadable")
    assert "Cannot connect" in state


def archive_step(machine: Machine, tags: tuple[str, ...] = ("x:y",)) -> Step:
    archive = read_archive(docker_save(machine.folder / "image of the day.tar", tags), "linux/amd64")
    cargo = Cargo(f"{machine.folder}/it's images/x", f"{machine.folder}/incoming/x", (archive.file,))
    incoming = machine.folder / "incoming/x"
    incoming.mkdir(parents=True, exist_ok=True)
    shutil.copy(machine.folder / "image of the day.tar", incoming / "image.tar")
    return loaded_image(REFERENCE, archive.image, engine="docker", cargo=cargo)


@pytest.mark.parametrize("tags", [("x:y",), (), ("vllm/vllm-openai:kimi-k31",)])
def test_an_archive_is_loaded_known_by_its_layers_and_removed(machine: Machine, tags: tuple[str, ...]) -> None:
    step = archive_step(machine, tags)
    assert machine.state(step) == "absent"
    made = machine.run(step.script)
    assert made.returncode == 0, made.stderr
    assert machine.state(step) == step.wanted
    assert not list((machine.folder / "it's images").iterdir()), "the file is in docker's store now"


def test_an_archive_that_was_changed_on_the_way_is_never_loaded(machine: Machine) -> None:
    step = archive_step(machine)
    with (machine.folder / "incoming/x/image.tar").open("r+b") as file:
        file.write(b"changed")
    failed = machine.run(step.script)
    assert failed.returncode != 0
    assert "outcome\tchecksum-mismatch image.tar" in failed.stdout
    assert not (machine.folder / "docker/log").exists()


def test_a_name_of_ours_that_leads_to_another_image_is_not_taken_for_it(machine: Machine) -> None:
    machine.holds("other@" + DIGEST, layers=("sha256:" + "e" * 64,))
    step = archive_step(machine)
    machine.run(f"docker pull other@{DIGEST}")
    name = next(word for word in step.probe.split() if word.startswith("bringup/"))
    machine.run(f"docker tag other@{DIGEST} {name}")
    assert machine.state(step) == "other"
    assert machine.run(step.script).returncode == 0
    assert machine.state(step) == step.wanted
