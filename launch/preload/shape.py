"""A launch turned into the deployment that holds its weights: the same hosts, environment and checkpoint. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from launch.building.generation import Generation
from launch.building.requirements import own_pids
from launch.building.steps import launch_steps, runner_of, stage_steps
from launch.preload.daemon import daemon_command, refuse_unsupported, socket_dir, weights_name
from playbooks.layout import Layout
from playbooks.plan import digest

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from launch.building.assemble import Assembly
    from launch.building.command import HostCommand
    from playbooks.plan import Step

DRAFTS = 1
"""Ports behind the master port: a draft model's daemons meet on the next one."""


def holding_weights(assembly: Assembly, facts: Mapping[str, HostFacts], state_dirs: Mapping[str, str]) -> Assembly:
    """The daemons of `assembly`'s ranks as a deployment of its own. Raises `CheckFailed` where there can be none."""
    decision = assembly.decision
    refuse_unsupported(decision.choice, decision.commands, image=assembly.needs.container is not None)
    port = decision.placement.rpc_port + 1
    layouts = {host: Layout(state_dirs[host]) for host in assembly.gang.hosts}
    commands = {
        one.host: daemon_command(
            one, decision.choice.vllm, sockets=socket_dir(layouts[one.host].caches), master_port=port
        )
        for one in decision.commands
    }
    gang = _gang(assembly.gang, commands, (port, port + DRAFTS))
    runners = {host: runner_of(facts[host], gang.of(host).python) for host in gang.hosts}
    staged = {host: stage_steps(commands[host], gang, runners[host], layouts[host]) for host in gang.hosts}
    steps = {host: (*_of_engine(assembly, layouts[host], host), *staged[host]) for host in gang.hosts}
    launch = {host: launch_steps(commands[host], gang, runners[host], layouts[host]) for host in gang.hosts}
    head = gang.hosts[0]
    hosts = tuple(
        replace(one, ports=gang.ports if one.host == head else (), own_pids=own_pids(facts[one.host], gang.name))
        for one in assembly.needs.hosts
    )
    needs = replace(assembly.needs, name=gang.name, hosts=hosts)
    shaped = replace(decision, commands=tuple(commands[one.host] for one in decision.commands))
    return replace(assembly, decision=shaped, gang=gang, needs=needs, steps=steps, launch=launch, forecast=None)


def _gang(engine: Generation, commands: Mapping[str, HostCommand], ports: tuple[int, ...]) -> Generation:
    """Its members have no endpoint: their logs tell when they are ready."""
    members = tuple(replace(one, url="", servers=1, ranks=max(1, one.ranks)) for one in engine.members)
    name = weights_name(engine.name)
    told = [name, [(one.host, one.env, one.argv) for one in commands.values()], [one.supervisor for one in members]]
    return replace(
        engine,
        name=name,
        generation=digest(told),
        served_name=name,
        ports=ports,
        members=members,
        kv_tokens=None,
        asks_key=False,
        tools=False,
    )


def _of_engine(assembly: Assembly, layout: Layout, host: str) -> tuple[Step, ...]:
    """What installs and fetches, without the files of the engine's own generation."""
    own = f"file {layout.deployment(assembly.gang.name)}/"
    return tuple(step for step in assembly.steps[host] if not step.id.startswith(own))
