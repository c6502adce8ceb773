"""From a recipe and the facts of these very hosts to what each of them will run. Pure.

The recipe's own words are read back from what it resolves to: the parallel sizes by the pinned vLLM's own option
schema, not by a second reading of the recipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from launch.building.command import HostCommand, Program, api_server_count, render
from launch.building.generation import SYSTEMD
from launch.building.steps import supervisor_of
from launch.caches.kv_memory import offered
from launch.caches.stamp import Stamp, stamp_of
from launch.catalogue.draft import from_folder
from launch.choosing.choice import Choice, choose
from launch.choosing.reasons import Reason
from launch.choosing.settings_check import refuse_contradicted, refuse_unplaceable, why_settings
from launch.placing.layout import layout_of
from launch.placing.pinning import settled
from launch.placing.place import place
from launch.placing.placement import Placement
from launch.placing.racks import rack_env, why_racks
from launch.placing.visible import visible_env
from launch.planned.plan import planned
from launch.preload.daemon import from_daemon, refuse_unsupported, socket_dir
from launch.request import DEFAULT_READY_TIMEOUT_S
from launch.resolve import resolve
from launch.vllm_args.translations import Translated, translate

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from launch.request import Request

__all__ = ["Choice", "Decision", "choose", "decide", "of_head"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What each host will run, before any file is written: commands in the order of `placement.nodes`."""

    choice: Choice
    placement: Placement
    commands: tuple[HostCommand, ...]
    api_servers: Mapping[str, int]


def decide(
    choice: Choice, request: Request, facts: Mapping[str, HostFacts], programs: Mapping[str, Program]
) -> Decision:
    """Place the ranks and render every host's command."""
    recipe = _translated(choice, len(choice.hosts))
    spoken, why_planned = planned(choice, request, recipe)
    placement = _placed(choice, request, facts, spoken[0].argv)
    placement = _settled(choice, request, placement, facts, spoken[0])
    notes = (*_notes(choice, recipe), *why_planned, *why_settings(request))
    notes = (*notes, *why_racks(choice.hardware, placement, spoken[0].argv))
    placement = replace(placement, reasons=(*choice.reasons, *placement.reasons, *notes))
    by_name = {host.name: host for host in choice.hosts}
    commands, api_servers = [], {}
    for node in placement.nodes:
        process = spoken[min(node.node_rank, len(spoken) - 1)]
        rack = rack_env(choice.hardware, placement, process.argv)
        seen = visible_env(node, facts[node.host])
        env = {**_patience(request), **rack, **process.env, **seen, **dict(by_name[node.host].env)}
        program, key = programs[node.host], request.wanted.api_key
        argv = from_folder(process.argv, program.draft_dir) if program.draft_dir else process.argv
        stamp = _stamp(choice, program, facts[node.host], env)
        command = render(argv, env, node=node, placement=placement, program=program, api_key=key, stamp=stamp)
        commands.append(replace(command, guard=request.supervision))
        api_servers[node.host] = api_server_count(process.argv, node, placement)
    commands = _from_daemon(choice, request, commands, programs)
    name = programs[placement.head.host].served_name
    sized, why_memory = offered(commands, facts, name, wanted=request.wanted.kv_memory)
    placement = replace(placement, reasons=(*placement.reasons, *why_memory))
    refuse_contradicted(choice, request, sized[0], placement)
    return Decision(choice, placement, sized, api_servers)


def _patience(request: Request) -> dict[str, str]:
    """API servers wait as long for their engines as the deploy does, and never less than it does by default.

    Less would change nothing but the key of the compile cache, which this variable is a part of.
    """
    return {"VLLM_ENGINE_READY_TIMEOUT_S": f"{max(request.ready_timeout_s, DEFAULT_READY_TIMEOUT_S):.0f}"}


def _from_daemon(
    choice: Choice, request: Request, commands: Sequence[HostCommand], programs: Mapping[str, Program]
) -> list[HostCommand]:
    """The commands, with weights from the daemon where that is wanted. Raises `CheckFailed` where there can be none."""
    if not request.wanted.weights_daemon:
        return list(commands)
    refuse_unsupported(choice, commands, image=any(programs[one.host].image for one in commands))
    return [replace(one, argv=from_daemon(one.argv, socket_dir(programs[one.host].cache_dir))) for one in commands]


def _stamp(choice: Choice, program: Program, facts: HostFacts, env: Mapping[str, str]) -> Stamp:
    return stamp_of(choice.vllm, program.packages, facts, env, program=program.vllm, image=program.image)


def of_head(choice: Choice, request: Request, nodes: int) -> Translated:
    """The recipe's command and environment of the first of `nodes`, with what was set over it."""
    return planned(choice, request, _translated(choice, nodes, only=1))[0][0]


def _translated(choice: Choice, nodes: int, *, only: int | None = None) -> list[Translated]:
    """The recipe's command and environment of each node, or of the `only` first, in the words of the version."""
    resolved = resolve(
        choice.found,
        strategy=choice.strategy,
        hardware=choice.hardware,
        variant=choice.variant,
        features=choice.features.names,
        modes=choice.features.modes,
        node_count=nodes,
    )
    return [translate(one.argv, one.env, choice.vllm) for one in resolved.processes[:only]]


def _placed(choice: Choice, request: Request, facts: Mapping[str, HostFacts], argv: Sequence[str]) -> Placement:
    try:
        return place(choice.hosts, facts, layout_of(choice, request, argv, len(choice.hosts)))
    except BringupError as error:
        refuse_unplaceable(request, error)
        raise


def _settled(
    choice: Choice, request: Request, placement: Placement, facts: Mapping[str, HostFacts], head: Translated
) -> Placement:
    """With the API servers that the cores bear, and the processes pinned to them."""
    systemd = {host.name: supervisor_of(facts[host.name]) == SYSTEMD for host in choice.hosts}
    pins = request.wanted.pins
    return settled(placement, head.argv, head.env, facts, version=choice.vllm, systemd=systemd, wanted=pins)


def _notes(choice: Choice, said: Sequence[Translated]) -> Iterator[Reason]:
    """What was chosen for the operator and changed in the recipe's words, each once."""
    for note in choice.features.notes:
        yield Reason(
            "features", note, "the recipe's defaults, and what was asked for", source="--feature, --no-feature"
        )
    for note in dict.fromkeys(note for one in said for note in one.notes):
        yield Reason("words", note, f"what vLLM {choice.vllm} takes", source="launch/vllm_args/translations.yaml")
