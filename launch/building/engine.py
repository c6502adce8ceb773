"""What a host needs on its disk before ranks can start: the engine's environment, the weights, a cache folder. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BadInput
from inventory.facts.base import is_known
from launch.building.command import Program
from launch.building.image_engine import HOST_PYTHON, EngineImage, image_for, runs_from_image
from launch.building.plan_parts import packages_of
from launch.building.requirements import Download
from launch.choosing.hardware import CPU
from playbooks.environments import EnvironmentDefinition, load_environment
from playbooks.layout import Layout
from playbooks.steps.directory import directory
from playbooks.steps.python_env import Sources, python_env
from playbooks.steps.weights import Checkpoint, made_weights, prefetched_weights

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from inventory.secret import Url
    from launch.catalogue.extra import Weights
    from launch.choosing.decide import Choice
    from playbooks.plan import Step

HERE = Path(__file__).parents[1]
IN_IMAGE = "/usr/local/bin/vllm"  # containers are started by the last part of it, wherever the image has it
BUILT_FOR = ("NVIDIA",)  # brands whose GPUs the wheels of `playbooks/environments` run on
MAKE_WEIGHTS = HERE / "tiny" / "make_weights.py"


@dataclass(frozen=True, slots=True)
class Engine:
    """One host's engine: `digest` of its environment, what is to be done for it, and what that takes."""

    digest: str | None
    gpu_runtime: str | None  # the CUDA that the environment is built for
    program: Program
    python: str
    steps: tuple[Step, ...]
    downloads: tuple[Download, ...]
    wanted: EnvironmentDefinition | None  # None: an image has it
    environment: str  # its folder
    image: EngineImage | None = None


def engines_of(
    choice: Choice,
    hosts: Sequence[Host],
    facts: Mapping[str, HostFacts],
    *,
    served_name: str,
    draft: str | None = None,
) -> dict[str, Engine]:
    """The engine of every host; `draft`: the repository of a draft model that its command names.

    Raises `BadInput` when no environment is built for it, or a commit is not pinned.
    """
    if runs_from_image(choice):
        return {host.name: _from_image(choice, host, facts[host.name], served_name, draft) for host in hosts}
    brand = choice.found.library.profile(choice.hardware).brand
    if choice.hardware != CPU and brand not in BUILT_FOR:
        raise BadInput(
            f"there is no environment for GPUs of {brand} yet",
            id="environment-unknown",
            observed=f"hosts are {choice.hardware}",
            required=f"GPUs that the locked wheels are built for: {' and '.join(BUILT_FOR)}",
            next_command="invoke recipes.list",
        )
    return {host.name: _engine(choice, host, facts[host.name], served_name, draft) for host in hosts}


def weights_commit(choice: Choice) -> str:
    """The pinned commit; of weights that are made here, a digest of what makes them."""
    extra = choice.found.recipe.bringup
    if choice.revision:
        return choice.revision
    if extra.random:
        text = MAKE_WEIGHTS.read_text() + extra.random.model_dump_json()
        return hashlib.sha256(text.encode()).hexdigest()[:40]
    pinned = extra.revisions.get(choice.variant)
    if pinned is None or pinned.revision is None:
        raise BadInput(
            f"no commit is pinned for the weights of {choice.model_id}",
            id="commit-open",
            observed=f"no bringup.revisions.{choice.variant}.revision in the recipe",
            required="a commit of 40 hexadecimal digits: a branch can move between two hosts' downloads",
            next_command="the same command with --revision COMMIT, as the model's page on the hub shows it; "
            f"or set the key in {choice.found.path}",
        )
    return pinned.revision


def _engine(choice: Choice, host: Host, facts: HostFacts, served_name: str, draft: str | None) -> Engine:
    layout = Layout(host.state_dir)
    wanted = load_environment(choice.found.recipe.bringup.distribution, choice.vllm)
    environment = layout.environment(wanted.digest)
    checkpoint = Checkpoint(
        choice.model_id, weights_commit(choice), layout.weights(choice.model_id, weights_commit(choice))
    )
    drafts = [_draft(choice, draft, layout)] if draft else []
    python = f"{environment}/bin/python"
    return Engine(
        digest=wanted.digest,
        gpu_runtime=wanted.gpu_runtime,
        program=Program(
            f"{environment}/bin/vllm",
            checkpoint.folder,
            layout.caches,
            served_name,
            drafts[0].folder if drafts else None,
            packages_of(wanted),
        ),
        python=python,
        wanted=wanted,
        environment=environment,
        steps=(
            directory(layout.caches, mode="0755", why="caches survive a start and are the engine's home"),
            python_env(wanted, folder=environment, sources=sources_of(host)),
            _weights_step(choice, checkpoint, environment),
            *(prefetched_weights(one) for one in drafts),
        ),
        downloads=(
            _environment_download(wanted, environment, facts),
            _weights_download(choice.found.recipe.bringup.revisions.get(choice.variant), checkpoint, facts),
            *(_weights_download(choice.found.recipe.bringup.drafts.get(one.repo), one, facts) for one in drafts),
        ),
    )


def _from_image(choice: Choice, host: Host, facts: HostFacts, served_name: str, draft: str | None) -> Engine:
    """What is the same whatever the registry says; `launch/building/images.py` adds the rest."""
    layout = Layout(host.state_dir)
    commit = weights_commit(choice)
    checkpoints = [Checkpoint(choice.model_id, commit, layout.weights(choice.model_id, commit))]
    checkpoints += [_draft(choice, draft, layout)] if draft else []
    image = image_for(choice, facts, tuple(checkpoints))
    program = Program(
        IN_IMAGE,
        checkpoints[0].folder,
        layout.caches,
        served_name,
        checkpoints[1].folder if draft else None,
        image=str(image.reference),
    )
    revisions, drafts = choice.found.recipe.bringup.revisions, choice.found.recipe.bringup.drafts
    pinned = (revisions.get(choice.variant), *(drafts.get(one.repo) for one in checkpoints[1:]))
    return Engine(
        digest=None,
        gpu_runtime=None,
        program=program,
        python=HOST_PYTHON,
        steps=(directory(layout.caches, mode="0755", why="caches survive a start and are the engine's home"),),
        downloads=tuple(_weights_download(its, one, facts) for its, one in zip(pinned, checkpoints, strict=True)),
        wanted=None,
        environment="",
        image=image,
    )


def _draft(choice: Choice, repo: str, layout: Layout) -> Checkpoint:
    """The draft model at its pinned commit. Raises `BadInput` when there is none."""
    pinned = choice.found.recipe.bringup.drafts.get(repo)
    if pinned is None or pinned.revision is None:
        raise BadInput(
            f"no commit is pinned for the draft model {repo}",
            id="commit-open",
            observed=f"no bringup.drafts of {repo} in the recipe",
            required="a commit of 40 hexadecimal digits: ranks never ask the hub, and a branch can move",
            next_command="the same command with --no-feature spec_decoding; or set bringup.drafts in "
            f"{choice.found.path}: {{{repo}: {{revision: COMMIT}}}}",
        )
    return Checkpoint(repo, pinned.revision, layout.weights(repo, pinned.revision))


def sources_of(host: Host) -> Sources:
    return Sources(
        index=_shown(host.mirrors.pypi),
        python=_shown(host.mirrors.python),
        torch_index=_shown(host.mirrors.torch),
        proxy=_shown(host.proxy),
        no_proxy=host.no_proxy,
    )


def _shown(url: Url | None) -> str | None:
    return url.reveal() if url else None


def _environment_download(wanted: EnvironmentDefinition, folder: str, facts: HostFacts) -> Download:
    present = is_known(facts.software) and any(
        one.digest == wanted.digest and one.complete for one in facts.software.environments
    )
    return Download("environment", folder, wanted.size_bytes, present)


def _weights_step(choice: Choice, checkpoint: Checkpoint, environment: str) -> Step:
    made = choice.found.recipe.bringup.random
    if made:
        return made_weights(
            checkpoint,
            python=f"{environment}/bin/python",
            program=MAKE_WEIGHTS.read_text(),
            arguments=("--kind", made.kind, "--seed", str(made.seed)),
        )
    return prefetched_weights(checkpoint)


def _weights_download(pinned: Weights | None, checkpoint: Checkpoint, facts: HostFacts) -> Download:
    size = pinned.checkpoint_gb if pinned else None
    present = is_known(facts.software) and any(
        one.repo == checkpoint.repo and one.commit == checkpoint.commit for one in facts.software.weights
    )
    return Download("weights", checkpoint.folder, int(size * 1e9) if size else None, present)
