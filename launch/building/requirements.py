"""What a decision asks of its hosts, in the words of the checks. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from launch.building.plan_parts import (
    build_of,
    demands_of,
    head_of,
    layout_of,
    model_of,
    parsed,
    talks_mnnvl,
    talks_rdma,
    utilization,
    weights_of,
)
from launch.building.unit import RESTART, STOP_TIMEOUT_S
from launch.choosing.hardware import CPU
from launch.console.sizes import size
from launch.memory.of_recipe import of_decision
from launch.placing.placement import LoadBalancing
from launch.placing.processes import processes_of
from launch.preload.daemon import weights_name
from launch.resolve.constraints import unmet
from launch.resolve.gates import Place
from launch.vllm_args.check import check as check_argv
from playbooks.environments import load_environment
from playbooks.requirements import Build, HostRequirements, MemoryForecast, Requirements, Space

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts, RunningDeployment
    from launch.building.command import HostCommand
    from launch.choosing.choice import Choice
    from launch.choosing.decide import Decision
    from launch.memory.of_recipe import Forecast
    from launch.placing.placement import Node, Placement

STATE_BYTES = 200_000_000  # logs, plans and job files of some hundred deploys


@dataclass(frozen=True, slots=True)
class Download:
    """What a host would have to hold: `size` in bytes, None when nobody knows it; `present` when it is there."""

    purpose: str
    path: str
    size: int | None
    present: bool


def requirements(
    decision: Decision,
    facts: Mapping[str, HostFacts],
    *,
    name: str,
    state_dirs: Mapping[str, str],
    downloads: Mapping[str, Sequence[Download]],
    environment: str | None,
    gpu_runtime: str | None,
) -> Requirements:
    """Fill the requirements of the gang; `name` is the deployment that this one replaces, if it is there."""
    placement, choice = decision.placement, decision.choice
    shutdown = head_of(decision).get("shutdown_timeout")
    hosts = tuple(
        _of_host(node, decision, facts[node.host], name, state_dirs[node.host], downloads[node.host], gpu_runtime)
        for node in placement.nodes
    )
    forecast = memory_forecast(of_decision(decision, facts))
    hosts = tuple(replace(one, memory_forecast=forecast) if one.gpus else one for one in hosts)
    return Requirements(
        hosts=hosts,
        head=placement.head.host,
        head_address=placement.head.address if len(placement.nodes) > 1 else None,
        vllm_version=decision.choice.vllm,
        data_parallel_size=placement.data_parallel_size,
        ranks=tuple(node.host for node in placement.nodes for _ in range(placement.engine_cores(node))),
        argv_errors=tuple(error for command in decision.commands for error in argv_errors(command, decision)),
        environment=environment,
        name=name,
        hardware=choice.hardware,
        model=model_of(choice, hosts[0].weights.commit if hosts[0].weights else None),
        layout=layout_of(decision),
        build=_build(choice) if environment else Build(),
        demands=demands_of(choice),
        rdma=talks_rdma(decision, facts),
        mnnvl=talks_mnnvl(decision, facts),
        shutdown_timeout_s=shutdown if isinstance(shutdown, int) else None,
        stop_timeout_s=STOP_TIMEOUT_S + (shutdown if isinstance(shutdown, int) else 0),
    )


def _build(choice: Choice) -> Build:
    return build_of(load_environment(choice.found.recipe.bringup.distribution, choice.vllm))


def _of_host(
    node: Node,
    decision: Decision,
    facts: HostFacts,
    name: str,
    state_dir: str,
    downloads: Sequence[Download],
    gpu_runtime: str | None,
) -> HostRequirements:
    choice, placement = decision.choice, decision.placement
    gpus = tuple(index for rank in node.ranks for index in rank.gpus)
    several = len(placement.nodes) > 1
    command = next(one for one in decision.commands if one.host == node.host)
    said = parsed(command, choice)
    return HostRequirements(
        host=node.host,
        gpus=gpus,
        gpu_profile=None if choice.hardware == CPU else choice.hardware,
        memory_per_gpu_bytes=_memory_per_gpu(decision) if gpus else None,
        host_memory_bytes=None,
        processes=processes_of(node, placement, api_servers=decision.api_servers[node.host]),
        address=node.address if several else None,
        interface=node.interface if several else None,
        ports=(*ports_of(node, decision), *([guard_port(placement)] if command.guard else [])),
        space=(
            Space(state_dir, STATE_BYTES, "state"),
            *(Space(one.path, 0 if one.present else one.size or 0, one.purpose) for one in downloads),
        ),
        own_pids=own_pids(facts, name),
        needs_root=_needs_root(facts, state_dir),
        gpu_runtime=gpu_runtime,
        argv=command.argv,
        env=command.env,
        weights=weights_of(command, choice),
        numa_bind=bool(said.get("numa_bind")),
        gpu_memory_utilization=utilization(said) if gpus else None,
        restart=RESTART,
        starts_after_s=0.0,  # all are started by one phase, at once
    )


def ports_of(node: Node, decision: Decision) -> tuple[int, ...]:
    """TCP ports that this host listens on: the public endpoint, and on the head the one where ranks join."""
    placement = decision.placement
    servers = len(node.ranks) if placement.load_balancing is LoadBalancing.EXTERNAL else 1
    ports = [placement.http_port + server for server in range(servers)] if node.serves else []
    ports += [placement.supervisor_port] if placement.supervisor_port else []
    if node.node_rank == 0 and len(placement.nodes) * placement.data_parallel_size > 1:
        ports.append(placement.rpc_port)
    return tuple(ports)


def guard_port(placement: Placement) -> int:
    """Where guards talk to each other, on every host: behind the two ports of what holds weights (launch/preload)."""
    return placement.rpc_port + 3


def own_pids(facts: HostFacts, name: str) -> tuple[int, ...]:
    return tuple(pid for one in own_deployments(facts, name) for pid in one.holders)


def own_deployments(facts: HostFacts, name: str) -> tuple[RunningDeployment, ...]:
    """The deployment of this name, and the one of its own that may hold its weights."""
    known = facts.deployments if is_known(facts.deployments) else ()
    return tuple(one for one in known if one.name in {name, weights_name(name)})


def memory_forecast(forecast: Forecast | None) -> MemoryForecast | None:
    """What the memory model says of each GPU, for the check; None where it knows nothing of the weights."""
    if forecast is None or forecast.weights is None:
        return None
    plan, settings = forecast.plan, forecast.settings
    loaded = None if plan.weights_bytes is None else plan.weights_bytes + (plan.activation_bytes or 0)
    short = ""
    if plan.loads is not False and plan.fits is False and plan.context and plan.request_bytes and plan.kv_bytes:
        short = (
            f"a request of {plan.context:,} tokens takes {size(plan.request_bytes)} of cache, "
            f"and at most {size(plan.kv_bytes)} are left"
        )
    return MemoryForecast(
        loads_bytes=None if loaded is None else math.ceil(loaded / settings.utilisation),
        short=short,
        certain=not forecast.is_derived,
        source=forecast.weights.source,
    )


def _memory_per_gpu(decision: Decision) -> int | None:
    minimum = decision.choice.found.recipe.variant(decision.choice.variant).vram_minimum_gb
    count = sum(len(rank.gpus) for node in decision.placement.nodes for rank in node.ranks)
    return math.ceil(minimum * 1e9 / count) if minimum and count else None


def _needs_root(facts: HostFacts, state_dir: str) -> tuple[str, ...]:
    if not is_known(facts.file_systems):
        return ()
    writable = any(one.asked == state_dir and one.writable for one in facts.file_systems)
    return () if writable else (f"the folder {state_dir}",)


def argv_errors(command: HostCommand, decision: Decision) -> list[tuple[str, str]]:
    """What the pinned vLLM refuses of a command, and what the model does not bear by its recipe."""
    choice = decision.choice
    refusals = check_argv(command.argv[1:], dict(command.env), choice.vllm)
    place = Place(choice.found.recipe, choice.found.library, choice.variant, choice.hardware)
    constraints = unmet(place, choice.strategy, parsed(command, choice))
    return [
        *((command.host, str(refusal)) for refusal in refusals if not refusal.warns),
        *((command.host, str(one)) for one in constraints),
    ]
