"""Omni recipes: generation of images, video and sound.

Tasks take the place of strategies, and no node count, pools or KV store apply. The layers are others than those of a
text model, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.catalogue.recipe import OmniTask, OmniTaskBlock
from launch.resolve.lookup import by_generation
from launch.resolve.result import NodeCommand, Resolved
from launch.resolve.words import last_of_each

if TYPE_CHECKING:
    from launch.catalogue.recipe import Block
    from launch.resolve.case import Case

OMNI = "omni"
KINDS = {
    "t2i": ("Text → Image", "/v1/images/generations"),
    "i2i": ("Image → Image", "/v1/chat/completions"),
    "t2v": ("Text → Video", "/v1/videos"),
    "i2v": ("Image → Video", "/v1/videos"),
    "ti2v": ("Text+Image → Video", "/v1/videos"),
    "t2a": ("Text → Audio", "/v1/audio/generate"),
}


@dataclass(frozen=True, slots=True)
class Task:
    """One task as it applies on one hardware."""

    id: str
    key: str
    label: str
    endpoint: str
    model_id: str | None
    vram_minimum_gb: float | None
    args: tuple[str, ...]


def tasks_of(case: Case) -> list[Task]:
    """The tasks of a recipe; those of a kind that is not known are left out."""
    omni = case.recipe.omni
    declared = [OmniTask(id=one) if isinstance(one, str) else one for one in (omni.tasks if omni else ())]
    return [_task(one, case.hardware) for one in declared if one.id in KINDS]


def _task(task: OmniTask, hardware: str) -> Task:
    exact = task.hardware_overrides.get(hardware) or OmniTaskBlock()
    label, endpoint = KINDS[task.id]
    vram = exact.vram_minimum_gb if exact.vram_minimum_gb is not None else task.vram_minimum_gb
    return Task(
        id=task.id,
        key=task.key or task.id,
        label=exact.label or task.label or label,
        endpoint=exact.endpoint or task.endpoint or endpoint,
        model_id=exact.model_id or task.model_id,
        vram_minimum_gb=vram,
        args=(*task.extra_args, *exact.extra_args),
    )


def resolve_omni(case: Case, key: str | None) -> Resolved:
    """The command of one task (None: the first)."""
    listed = tasks_of(case)
    task = next((one for one in listed if one.key == key), listed[0] if listed else None)
    model = (task.model_id if task else None) or case.model_id
    argv = (*binary_of(case), model, *last_of_each(_words(case, task)))
    command = NodeCommand("single", 0, _env(case), argv)
    shown = None
    if task is not None:
        names = ("id", "key", "label", "endpoint", "vram_minimum_gb")
        shown = {name: getattr(task, name) for name in names}
    return Resolved(deploy_type=OMNI, model_id=model, processes=(command,), task=shown)


def binary_of(case: Case) -> tuple[str, ...]:
    omni = case.recipe.omni
    return tuple((omni.serve_binary if omni and omni.serve_binary else "vllm serve").split())


def _blocks(case: Case) -> list[Block]:
    """The exact hardware's block comes last here, and a strategy replaces nothing."""
    found = [
        by_generation(case.recipe.hardware_overrides, case.profile),
        by_generation(case.variant.hardware_overrides, case.profile),
        case.variant.hardware_overrides.get(case.hardware),
    ]
    return [one for one in found if one is not None]


def _words(case: Case, task: Task | None) -> list[str]:
    words = list(case.recipe.model.base_args)
    words += case.variant.extra_args if case.variant_key != "default" else ()
    words += task.args if task else ()
    words += [word for block in _blocks(case) for word in block.extra_args]
    port = case.recipe.omni.port if case.recipe.omni else None
    words += ["--port", str(port)] if port else []
    return [*words, "--omni"]


def _env(case: Case) -> dict[str, str]:
    env = dict(case.recipe.model.base_env)
    env |= case.variant.extra_env if case.variant_key != "default" else {}
    for block in _blocks(case):
        env |= block.extra_env
    return env
