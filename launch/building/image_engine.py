"""The engine of a host where an image has it: nothing of it is installed, everything runs in the container. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.errors import BadInput, CheckFailed
from inventory.facts.base import is_known
from launch.building.container import IMEX, INFINIBAND, run_of
from launch.placing.placement import Binding
from launch.plans.images import image_of_choice, image_of_recipe
from launch.resolve.constraints import applies
from playbooks.images.image import Image
from playbooks.images.reference import Reference, parse_reference
from playbooks.steps.image import local_name

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from launch.building.command import HostCommand, Program
    from launch.building.container import ContainerRun
    from launch.choosing.choice import Choice
    from launch.placing.placement import Node
    from playbooks.steps.weights import Checkpoint

ENGINES = ("docker", "podman")
BY_IMAGE = ("AMD",)
"""Brands whose wheels are on no common index: vLLM publishes images for them."""
HOST_PYTHON = "/usr/bin/python3"
"""What asks for the completion that proves it serves: the host's own, which needs nothing beyond itself."""


@dataclass(frozen=True, slots=True)
class EngineImage:
    """`runtime`: docker or podman. `found`: what a registry or an archive says of it; None: nobody was asked yet."""

    reference: Reference
    runtime: str
    checkpoints: tuple[Checkpoint, ...]
    found: Image | None = None

    @property
    def name(self) -> str:
        """What it is run by."""
        return local_name(self.reference, self.found) if self.found else str(self.reference)


@dataclass(frozen=True, slots=True)
class Talks:
    """What the ranks of a gang do that their containers must be let. `mnnvl`: NVLink from tray to tray."""

    several: bool
    rdma: bool
    mnnvl: bool
    drain_s: int  # that vLLM may take to end its requests


def runs_from_image(choice: Choice) -> bool:
    """Whether an image has the engine: no wheel has it, or there are no locked wheels for this brand of GPUs."""
    return is_image_only(choice) or choice.found.library.profile(choice.hardware).brand in BY_IMAGE


def is_image_only(choice: Choice) -> bool:
    rules = choice.found.recipe.bringup.constraints
    return any(one.image_only and applies(one, choice.place, choice.strategy) for one in rules)


def image_for(choice: Choice, facts: HostFacts, checkpoints: tuple[Checkpoint, ...]) -> EngineImage:
    """Raises `BadInput` where the recipe names no image, `CheckFailed` where the host has nothing to run it."""
    named = image_of_recipe(choice) if is_image_only(choice) else image_of_choice(choice)
    if named is None:
        raise BadInput(
            f"{choice.found.id} runs from an image only, and the recipe names none for {choice.hardware}",
            id="image-none",
            observed="no docker_image in the recipe, of the model or the variant",
            required="an image by name and tag: a stock tag moves",
            next_command=f"set model.docker_image in {choice.found.path}",
        )
    return EngineImage(parse_reference(named), _runtime(choice, facts), checkpoints)


def _runtime(choice: Choice, facts: HostFacts) -> str:
    """Docker where it is there or nobody told; else podman."""
    if not is_known(facts.software) or facts.software.docker:
        return ENGINES[0]
    if facts.software.podman:
        return ENGINES[1]
    raise CheckFailed(
        f"{choice.found.id} runs from an image on {choice.hardware}, and this host has nothing that runs images",
        id="image-only",
        observed="neither docker nor podman",
        required="docker with the vendor's container toolkit, or podman",
        next_command=f"install docker on {facts.host}; what the image is: invoke recipes.show --model {choice.slug}",
        host=facts.host,
    )


def run_for(
    image: EngineImage,
    node: Node,
    command: HostCommand,
    program: Program,
    facts: HostFacts,
    *,
    talks: Talks,
) -> ContainerRun:
    """How the container of `node` is started: with its GPUs, the weights to read and the caches to write."""
    told = dict(command.env)
    folders = [(one.folder, False) for one in image.checkpoints]
    folders += [(path, False) for path in _given(command, program)]
    folders.append((told.get("HOME", program.cache_dir), True))
    run = run_of(
        facts,
        engine=image.runtime,
        image=image.name,
        gpus=tuple(index for rank in node.ranks for index in rank.gpus),
        folders=tuple(dict.fromkeys(folders)),
        several=talks.several,
        binds=node.pins.binding is Binding.NUMA_BIND,
    )
    # What the plan needs is given also where facts do not show it: a start without it would talk TCP, unseen.
    needed = [INFINIBAND] if talks.rdma else []
    if talks.mnnvl and not any(one.startswith(IMEX) for one in run.devices):
        needed.append(f"{IMEX}/channel0")
    return replace(
        run,
        devices=tuple(dict.fromkeys((*run.devices, *needed))),
        capabilities=tuple(dict.fromkeys((*run.capabilities, *(("IPC_LOCK",) if talks.rdma else ())))),
        stop_timeout_s=run.stop_timeout_s + talks.drain_s,
    )


def _given(command: HostCommand, program: Program) -> list[str]:
    """Folders and files of the host that options name: `--lora-modules name=/folder`, `--chat-template /file`."""
    words = [word.partition("=/") for word in command.argv[3:] if not word.startswith(("-", "{"))]
    paths = [f"/{after}" if slash else before for before, slash, after in words]
    known = (program.model_dir, program.draft_dir, program.cache_dir)
    given = [path for path in paths if path.startswith("/") and path not in known]
    if parted := next((path for path in given if ":" in path), None):
        raise BadInput(
            "a path with a colon cannot be given to a container",
            id="container-path",
            observed=parted,
            required="a path without ':', which docker takes for the end of it",
            next_command="the same command with another path: a symbolic link on the hosts will do",
        )
    return given
