"""Labs with something to run: the simulated engine on simulated GPUs, this machine's environments on CPU hosts."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.lab import lifecycle
from inventory.lab import profile as profiles
from inventory.lab.lifecycle import Equipment
from inventory.lab.simulated import Weights
from launch.building.engine import weights_commit
from launch.catalogue.find import Catalogue
from launch.choosing.decide import Choice
from launch.standin.make_env import build
from playbooks.environments import environment_names, load_environment

if TYPE_CHECKING:
    from inventory.lab.state import Lab

ENVIRONMENTS = Path("/var/lib/bringup/envs")
CONFIG = '{"architectures": ["Simulated"], "simulated": true}\n'
SHARDS = 64
VARIANT = "default"


def up(hosts: int, profile: str, *, name: str = "lab", disk: str | None = None, systemd: bool = False) -> Lab:
    """Make a lab whose hosts can run what a deploy asks of them."""
    with equipment(profile) as wanted:
        return lifecycle.up(hosts, profile, name=name, equipment=replace(wanted, disk=disk, systemd=systemd))


@contextmanager
def equipment(profile: str) -> Iterator[Equipment]:
    """What hosts of `profile` find on their disks. The folder of the simulated environments is copied by then."""
    if profiles.load(profile).engine is None:
        yield Equipment(environments=ENVIRONMENTS if ENVIRONMENTS.is_dir() else None)
        return
    folder = Path(tempfile.mkdtemp(prefix="bringup-lab-"))
    try:
        choices = list(_downloaded())
        digests = {_digest(choice): choice.vllm for choice in choices}
        yield Equipment(
            copied_environments={digest: build(folder / digest, vllm) for digest, vllm in digests.items()},
            weights=tuple(_weights(choice) for choice in choices),
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _downloaded() -> Iterator[Choice]:
    """The default variant of every recipe that could be installed and downloaded: what a lab host pretends to have."""
    catalogue = Catalogue.of()
    for recipe in catalogue.ids():
        found = catalogue.find(recipe)
        ours = found.recipe.bringup
        pinned = ours.revisions.get(VARIANT)
        installable = f"{ours.distribution}-{ours.vllm_version}" in environment_names()
        if ours.weights == "hub" and ours.vllm_version and installable and pinned and pinned.revision:
            model_id = found.recipe.model_id(VARIANT)
            yield Choice(
                found=found, hardware="", variant=VARIANT, strategy="", vllm=ours.vllm_version, model_id=model_id
            )


def _digest(choice: Choice) -> str:
    return load_environment(choice.found.recipe.bringup.distribution, choice.vllm).digest


def _weights(choice: Choice) -> Weights:
    size = choice.found.recipe.bringup.revisions[VARIANT].checkpoint_gb or 0
    shard = int(size * 1e9) // SHARDS
    sizes = {f"model-{number:05}-of-{SHARDS:05}.safetensors": shard for number in range(1, SHARDS + 1)}
    return Weights(choice.model_id, weights_commit(choice), sizes, {"config.json": CONFIG})
