"""A model that runs from an image, on two simulated GB200 trays with a SIMULATED docker: there is no daemon here.

The registry that the control machine asks is real HTTP on loopback; what a host pulls, the simulated docker pretends to
pull. Its containers are processes of the host, and the engine in them is the stand-in.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.lab import lifecycle
from inventory.lab.state import Lab
from launch import lab as labs
from playbooks.environments import load_environment
from tests.lab.cli import Typed, invoke
from tests.lab.conftest import on
from tests.unit.playbooks.images.archives import LAYERS, docker_save
from tests.unit.playbooks.images.test_images import Simple
from tests.unit.playbooks.served import Site, serving

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-deploy"), pytest.mark.timeout(300)]

TRAYS = ("tray1", "tray2")
SIMULATED = Path(__file__).parents[1] / "simulated_docker.py"
STATE = "/var/lib/simulated-docker"


@dataclass(slots=True)
class Day0:
    lab: Lab
    registry: Simple
    recipes: Path
    image: str

    def deploy(self, *words: str) -> Typed:
        asked = ("--model", "deepseek-v4-pro", "--hosts", "tray1,tray2", "--recipes", str(self.recipes))
        return invoke("deploy", *asked, *words, inventory=self.lab.inventory)

    def typed(self, host: str) -> list[list[str]]:
        return [json.loads(line) for line in on(self.lab, host, f"cat {STATE}/log").stdout.splitlines()]

    def remote(self, digest: str) -> None:
        """What a pull would find: the simulated docker of each host is told."""
        told = {"Id": digest, "RootFS": {"Type": "layers", "Layers": list(LAYERS)}, "Os": "linux", "Size": 1}
        text = json.dumps({f"{self.image.rpartition(':')[0]}@{digest}": {**told, "Architecture": "arm64"}})
        for host in TRAYS:
            write(self.lab, host, f"{STATE}/remote.json", text)


def write(lab: Lab, host: str, path: str, text: str, mode: str = "0644") -> None:
    data = base64.b64encode(text.encode()).decode()
    folder = path.rpartition("/")[0]
    done = on(lab, host, f"mkdir -p {folder}; rm -f {path}; echo {data} | base64 -d >{path}; chmod {mode} {path}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def lab(machine_carries_labs: None) -> Iterator[Lab]:  # noqa: ARG001
    name = f"image-{os.getpid()}"
    made = labs.up(2, "gb200", name=name)
    engine = f"/var/lib/bringup/envs/{load_environment('vllm', '0.33.0').digest}/bin/vllm"
    for host in TRAYS:
        write(made, host, "/usr/local/bin/docker", f"#!/usr/bin/python3\n{SIMULATED.read_text()}", "0755")
        write(made, host, f"{STATE}/programs/vllm", f'#!/bin/sh\nexec {engine} "$@"\n', "0755")
    yield made
    with suppress(BadInput):
        lifecycle.down(name)


@pytest.fixture
def day0(lab: Lab, tmp_path: Path) -> Iterator[Day0]:
    with serving() as site:
        yield Day0(lab, Simple(site), recipes_with(tmp_path, site), f"{server(site)}/a/b:day0")
    invoke("stop", inventory=lab.inventory)
    for host in TRAYS:
        on(lab, host, f"rm -rf {STATE}/images.json {STATE}/log {STATE}/remote.json /var/lib/bringup/deployments")


def server(site: Site) -> str:
    return site.url.removeprefix("http://")


def recipes_with(folder: Path, site: Site) -> Path:
    shutil.copytree(Path(labs.__file__).parent / "recipes", folder / "recipes")
    recipe = folder / "recipes/models/deepseek-ai/DeepSeek-V4-Pro.yaml"
    rule = "    - {why: a test, source: a test, image_only: true}\n"
    text = recipe.read_text().replace("model:\n", f"model:\n  docker_image: {server(site)}/a/b:day0\n", 1)
    recipe.write_text(text.replace("  constraints:\n", f"  constraints:\n{rule}", 1))
    return folder / "recipes"


def test_from_a_tag_to_a_served_model_and_offline_again(day0: Day0) -> None:
    digest = day0.registry.index("day0")
    day0.remote(digest)
    planned = day0.deploy("--dry-run", "--json")
    assert planned.code == 8, planned
    pulls = [one for one in planned.data["changes"] if one["id"].startswith("image ")]
    assert [one["after"] for one in pulls] == [f"digest {digest}"] * 2

    first = day0.deploy()
    assert first.code == 0, first
    assert f"by digest {digest}" in first.said
    for host in TRAYS:
        (run,) = [words for words in day0.typed(host) if words[0] == "run"]
        assert run[run.index("--entrypoint") + 2].startswith("bringup/b:")
        assert {"--pull", "--network", "--ipc", "--gpus"} <= set(run)
        assert f"bringup/b:{digest[7:19]}" in run
        assert not [words for words in day0.typed(host) if "rmi" in words or "prune" in words]
    again = day0.deploy("--dry-run")
    assert again.code == 0, again
    assert invoke("status", inventory=day0.lab.inventory).code == 0

    day0.registry.site.pages.clear()  # the registry has gone, and hosts can pull nothing
    day0.remote("sha256:" + "0" * 64)
    restarted = invoke("restart", inventory=day0.lab.inventory)
    assert restarted.code == 0, restarted
    assert day0.deploy("--dry-run", "--image-digest", digest).code == 0


def test_an_archive_is_given_from_here_and_from_tray_to_tray(day0: Day0, tmp_path: Path) -> None:
    path = docker_save(tmp_path / "image.tar", machine="arm64")  # as the simulated trays are
    first = day0.deploy("--image-archive", str(path))
    assert first.code == 0, first
    for host in TRAYS:
        assert [words[0] for words in day0.typed(host)].count("pull") == 0
        loads = [words for words in day0.typed(host) if words[0] == "load"]
        assert len(loads) == 1
        assert on(day0.lab, host, "ls /var/lib/bringup/images /var/lib/bringup/incoming").stdout.split() == [
            "/var/lib/bringup/images:",
            "/var/lib/bringup/incoming:",
        ]
    again = day0.deploy("--image-archive", str(path), "--dry-run")
    assert again.code == 0, again


def test_what_a_host_pulls_must_be_the_plan_s(day0: Day0) -> None:
    day0.registry.index("day0")
    failed = day0.deploy()
    assert failed.code == 5, failed
    for words in ("image-pull", "not found", "next:"):
        assert words in failed.said
    assert invoke("status", inventory=day0.lab.inventory).code != 0


def test_an_image_for_another_processor_is_refused_before_anything_is_pulled(day0: Day0) -> None:
    day0.registry.image("riscv64", "day0")
    refused = day0.deploy()
    assert refused.code == 4, refused
    assert "rt.image_platform" in refused.said
    assert "pull" not in {words[0] for words in day0.typed("tray1")}
