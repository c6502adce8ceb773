"""Everything that a deploy wants of its hosts, put together from a decision: steps, gang record, requirements. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from launch.building.container import arguments
from launch.building.image_engine import Talks, run_for
from launch.building.plan_parts import head_of, talks_mnnvl, talks_rdma
from launch.building.requirements import requirements
from launch.building.sources import with_sources
from launch.building.steps import HostLaunch, generation_of, launch_steps, runner_of, stage_steps
from launch.caches.kv_memory import gpu_names
from launch.memory.of_recipe import of_decision
from launch.placing.addresses import public_address
from launch.proving.environment import proved
from playbooks.layout import Layout
from playbooks.requirements import Container

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.building.container import ContainerRun
    from launch.building.engine import Engine
    from launch.building.generation import Generation
    from launch.choosing.decide import Decision
    from launch.memory.of_recipe import Forecast
    from playbooks.plan import Step
    from playbooks.requirements import Requirements


@dataclass(frozen=True, slots=True)
class Assembly:
    """`steps` are provision, prefetch and stage of each host; `launch`: its guard, stop, switch and start.

    `forecast`: of the memory of each GPU; None: nothing is known of the architecture. `gpu_names`: by host.
    """

    decision: Decision
    gang: Generation
    needs: Requirements
    steps: Mapping[str, tuple[Step, ...]]
    launch: Mapping[str, HostLaunch]
    forecast: Forecast | None = None
    gpu_names: Mapping[str, str] = field(default_factory=dict)

    def all_steps(self, host: str) -> tuple[Step, ...]:
        launch = self.launch[host]
        return (*self.steps[host], launch.guard, launch.stop, *launch.switch, launch.start)


def assemble(
    decision: Decision,
    name: str,
    hosts: Sequence[Host],
    facts: Mapping[str, HostFacts],
    engines: Mapping[str, Engine],
    environ: Mapping[str, str] = MappingProxyType({}),
) -> Assembly:
    """`environ`: of this machine, whose proxies a check looks at."""
    layouts = {host.name: Layout(host.state_dir) for host in hosts}
    runners = {
        host.name: replace(
            runner_of(facts[host.name], engines[host.name].python), address=public_address(host, facts[host.name])
        )
        for host in hosts
    }
    forecast = of_decision(decision, facts)
    containers = _containers(decision, facts, engines)
    gang = _predicted(generation_of(decision, name, runners, containers), forecast)
    head = engines[decision.placement.head.host]
    needs = requirements(
        decision,
        facts,
        name=name,
        state_dirs={host.name: host.state_dir for host in hosts},
        downloads={host: engine.downloads for host, engine in engines.items()},
        environment=head.digest,
        gpu_runtime=head.gpu_runtime,
    )
    needs = replace(needs, container=_container(head, containers, decision, name))
    needs = with_sources(needs, hosts, {host: engine.downloads for host, engine in engines.items()}, environ)
    steps, launch = {}, {}
    for command in decision.commands:
        runner, layout, container = runners[command.host], layouts[command.host], containers.get(command.host)
        made = proved(engines[command.host], layout, needs.of(command.host), facts[command.host])
        steps[command.host] = (*made, *stage_steps(command, gang, runner, layout, container))
        launch[command.host] = launch_steps(command, gang, runner, layout, container)
    names = {command.host: gpu_names(facts[command.host]) for command in decision.commands}
    return Assembly(decision, gang, needs, steps, launch, forecast, names)


def _containers(
    decision: Decision, facts: Mapping[str, HostFacts], engines: Mapping[str, Engine]
) -> dict[str, ContainerRun]:
    """How the container of each host is started; nothing for hosts that have an environment."""
    nodes, drain = decision.placement.nodes, head_of(decision).get("shutdown_timeout")
    talks = Talks(
        several=len(nodes) > 1,
        rdma=bool(talks_rdma(decision, facts)),
        mnnvl=talks_mnnvl(decision, facts) is not False,
        drain_s=drain if isinstance(drain, int) else 0,
    )
    return {
        node.host: run_for(
            engine.image,
            node,
            command,
            engine.program,
            facts[node.host],
            talks=talks,
        )
        for node, command in zip(nodes, decision.commands, strict=True)
        if (engine := engines[node.host]).image is not None
    }


def _container(head: Engine, containers: Mapping[str, ContainerRun], decision: Decision, name: str) -> Container | None:
    """The same in the words of the checks, as the head has it."""
    if head.image is None:
        return None
    run, found = containers[decision.placement.head.host], head.image.found
    return Container(
        image=str(head.image.reference),
        digest=found.digest if found else head.image.reference.digest,
        layers=found.layers if found else (),
        platforms=found.platforms if found else None,
        compressed_bytes=found.compressed_bytes if found else None,
        arguments=tuple(arguments(run, decision.commands[0], name)),
        stop_timeout_s=run.stop_timeout_s,
        started_by=head.image.name if found else None,
        engine=head.image.runtime,
    )


def _predicted(gang: Generation, forecast: Forecast | None) -> Generation:
    """The record of the gang with what its engines should log of their KV cache."""
    if forecast is None or forecast.plan.tokens is None:
        return gang
    return replace(gang, kv_tokens=forecast.plan.tokens, kv_at_most=forecast.plan.is_bound)
