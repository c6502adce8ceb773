"""The steps of every host for one decision: environment, weights, the generation's files, stop and start. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from launch.building.generation import PROCESS_GROUP, SYSTEMD, Generation, Member
from launch.building.plan_parts import head_of
from launch.building.requirements import guard_port, ports_of
from launch.building.unit import UnitSettings, command_file, unit_file
from launch.caches.stamp import FILE as STAMP
from launch.placing.placement import LoadBalancing, Node, Placement
from launch.planned.wanted import KEY_FILE
from launch.recovery.guard import guard_step, guard_steps
from launch.running.supervise import state_step
from playbooks.layout import Layout
from playbooks.plan import ABSENT, Phase, Step, digest
from playbooks.steps.file import file
from playbooks.steps.symlink import symlink

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from launch.building.command import HostCommand
    from launch.building.container import ContainerRun
    from launch.choosing.decide import Decision

START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 120.0
UNIT_DIR = "/etc/systemd/system"


@dataclass(frozen=True, slots=True)
class Runner:
    """How one host runs ranks: `supervisor` is systemd or process-group; `python` belongs to the engine.

    `address`: where clients reach it when it serves alone.
    """

    supervisor: str
    user: str
    is_root: bool
    python: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """`switch` makes this generation the current one, between the stop and the start.

    `started_from`: ids of the steps that write what the ranks are started from. `guard`: that of a group that runs.
    """

    guard: Step
    stop: Step
    switch: tuple[Step, ...]
    start: Step
    started_from: frozenset[str]

    @property
    def starts_guard(self) -> bool:
        """Whether a guard comes with the ranks when they are started."""
        return self.guard.wanted != ABSENT


def runner_of(facts: HostFacts, python: str) -> Runner:
    """Who runs them here, and as whom."""
    user, root = ("root", True)
    if is_known(facts.system):
        user, root = facts.system.user, facts.system.uid == 0
    return Runner(supervisor_of(facts), user, root, python)


def supervisor_of(facts: HostFacts) -> str:
    """Choose systemd where it is PID 1 and we may use it, else a plain process group."""
    may = not is_known(facts.system) or facts.system.uid == 0 or facts.system.can_sudo
    systemd = is_known(facts.software) and facts.software.systemd is not None
    return SYSTEMD if systemd and may else PROCESS_GROUP


def generation_of(
    decision: Decision, name: str, runners: Mapping[str, Runner], containers: Mapping[str, ContainerRun] | None = None
) -> Generation:
    """Name the gang. The generation is a digest of everything that its hosts will run: the same again is the same."""
    placement, choice = decision.placement, decision.choice
    members = tuple(
        Member(
            host=node.host,
            url=_url(_served_at(node, runners[node.host], placement), placement.http_port) if node.serves else "",
            start_rank=node.start_rank,
            ranks=placement.engine_cores(node),
            python=runners[node.host].python,
            supervisor=runners[node.host].supervisor,
            servers=len(node.ranks) if placement.load_balancing is LoadBalancing.EXTERNAL else 1,
            address=node.address,
        )
        for node in placement.nodes
    )
    commands = [(command.host, command.env, command.argv, *_held(command)) for command in decision.commands]
    ports = sorted({port for node in placement.nodes for port in ports_of(node, decision)})
    return Generation(
        name=name,
        generation=digest(
            [
                name,
                commands,
                [(one.host, one.supervisor) for one in members],
                *([_plain(containers)] if containers else []),
            ]
        ),
        recipe=choice.found.id,
        variant=choice.variant,
        strategy=choice.strategy,
        vllm=choice.vllm,
        served_name=name,
        load_balancing=placement.load_balancing,
        prompt=choice.found.recipe.bringup.smoke.prompt,
        max_tokens=choice.found.recipe.bringup.smoke.max_tokens,
        ports=tuple(ports),
        members=members,
        asks_key=any(command.api_key for command in decision.commands),
        drain_s=drain_of(decision),
        guard_port=guard_port(placement) if decision.commands[0].guard else 0,
        hardware=choice.hardware,
        tools={"--enable-auto-tool-choice", "--tool-call-parser"} <= set(decision.commands[0].argv),
    )


def _served_at(node: Node, runner: Runner, placement: Placement) -> str:
    """On the network of the gang; a host that serves alone has none, and its ranks talk over loopback."""
    alone = len(placement.nodes) == 1 and runner.address
    return runner.address if alone else node.address


def drain_of(decision: Decision) -> int:
    """Seconds that vLLM takes to end running requests when it is told to stop: `--shutdown-timeout`, else none."""
    told = head_of(decision).get("shutdown_timeout")
    return told if isinstance(told, int) else 0


def _plain(containers: Mapping[str, ContainerRun]) -> list[object]:
    return [(host, asdict(run)) for host, run in containers.items()]


def _held(command: HostCommand) -> tuple[object, ...]:
    """What its unit is held to and which key it asks for, as far as there is any of it. A guard is no part of it."""
    held = (command.affinity, command.memory_nodes) if command.affinity or command.memory_nodes else ()
    return (*held, *([command.api_key.digest] if command.api_key else []))


def _settings(
    command: HostCommand, gang: Generation, runner: Runner, layout: Layout, container: ContainerRun | None
) -> UnitSettings:
    folder = layout.generation(gang.name, gang.generation)
    held = command.affinity, command.memory_nodes
    key_file = f"{folder}/{KEY_FILE}" if command.api_key else None
    return UnitSettings(gang.name, gang.generation, folder, runner.user, *held, key_file, container, gang.drain_s)


def stage_steps(
    command: HostCommand, gang: Generation, runner: Runner, layout: Layout, container: ContainerRun | None = None
) -> tuple[Step, ...]:
    """The files of the generation on one host. Nothing of them is used before the start."""
    settings = _settings(command, gang, runner, layout, container)
    folder = settings.directory
    why = "a generation keeps exactly what it ran, so that it can be run again"
    steps = [
        file(f"{folder}/command.sh", command_file(command, settings), mode="0755", why=why, phase=Phase.STAGE),
        file(f"{folder}/generation.json", gang.to_line(command.host), mode="0644", why=why, phase=Phase.STAGE),
    ]
    if command.stamp:
        caches = f"{layout.caches}/{command.stamp.digest}"
        steps.append(
            file(
                f"{caches}/{STAMP}",
                command.stamp.text(caches),
                mode="0644",
                why="caches are used only by what made them",
                phase=Phase.STAGE,
            )
        )
    if settings.key_file and command.api_key:
        key = command.api_key.secret.reveal()
        steps.append(file(settings.key_file, key, mode="0600", why="no other user may read it", phase=Phase.STAGE))
    if command.guard:
        steps += guard_steps(command.guard, gang, command.host, layout, runner.user)
    if runner.supervisor == SYSTEMD:
        unit = unit_file(settings)
        steps.append(file(f"{folder}/unit.service", unit, mode="0644", why=why, phase=Phase.STAGE))
    return tuple(steps)


def launch_steps(
    command: HostCommand, gang: Generation, runner: Runner, layout: Layout, container: ContainerRun | None = None
) -> HostLaunch:
    """What stops, switches and starts this host."""
    settings = _settings(command, gang, runner, layout, container)
    why = "the group is switched as a whole, when nothing of the earlier generation runs any more"
    switch = [symlink(layout.current(gang.name), gang.generation, why=why, phase=Phase.START)]
    if runner.supervisor == SYSTEMD:
        path = f"{UNIT_DIR}/bringup-{gang.name}.service"
        switch.append(file(path, unit_file(settings), mode="0644", why=why, phase=Phase.START, sudo=not runner.is_root))
    stop, start = (
        state_step(gang, state_dir=layout.state_dir, phase=phase, deadline_s=deadline)
        for phase, deadline in ((Phase.STOP, STOP_DEADLINE_S + gang.drain_s), (Phase.START, START_DEADLINE_S))
    )
    started_from = frozenset({f"file {settings.directory}/command.sh", *(unit.id for unit in switch[1:])})
    guard = guard_step(command.guard, gang, command.host, layout, runner.user)
    return HostLaunch(guard, stop, tuple(switch), start, started_from)


def _url(address: str, port: int) -> str:
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"
