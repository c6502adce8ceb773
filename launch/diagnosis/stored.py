"""What a launch asked of its hosts, read back from what it stored there: the record of the generation and the command.

Nothing is guessed: what is not stored (the recipe's own words, the lock of the build) is None, and checks that need it
are not run. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from inventory.errors import BringupError
from inventory.facts.base import is_known
from inventory.secret import HIDDEN
from launch.building.generation import Generation, Member, read_generation
from launch.building.plan_parts import mnnvl_of, rdma_of, utilization
from launch.building.requirements import STATE_BYTES, own_deployments
from launch.building.unit import STOP_TIMEOUT_S
from launch.choosing.hardware import CPU
from launch.placing.processes import counted
from launch.serving.stored_command import StoredCommand, read_command
from launch.vllm_args.parse import UnknownVersion, parse
from playbooks.argv import number, options
from playbooks.racks import RACKS
from playbooks.requirements import (
    Container,
    ExpectedWeights,
    HostRequirements,
    Layout,
    Processes,
    Requirements,
    Space,
)

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from launch.diagnosis.capture import Capture

FOLDER = re.compile(r"(?P<state>/.*)/deployments/[^/]+/[^/]+")
ENVIRONMENT = re.compile(r"/envs/(?P<digest>[0-9a-f]{8,64})/bin/")
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
DOCKER_GPUS = re.compile(r'"?device=(?P<listed>[\d,]+)"?')
BALANCING: Mapping[str, Literal["internal", "hybrid", "external"]] = {
    "internal": "internal",
    "hybrid": "hybrid",
    "external": "external",
}
CDI_GPU = re.compile(r"nvidia\.com/gpu=(?P<index>\d+)")


@dataclass(frozen=True, slots=True)
class Stored:
    """What one host has of the generation that is current there."""

    gang: Generation
    member: Member
    command: StoredCommand

    @property
    def options(self) -> dict[str, str | None]:
        return options(self.command.options)


def read(capture: Capture) -> dict[str, Stored]:
    """By host, where both files are there and can be read."""
    found = {}
    for host in capture.hosts:
        record = next(capture.texts(host, "generation.json"), "")
        command = read_command(next(capture.texts(host, "command.sh"), ""))
        gang = _gang(record, host)
        if gang and command and host in gang.hosts:
            found[host] = Stored(gang, gang.of(host), command)
    return found


def _gang(record: str, host: str) -> Generation | None:
    try:
        return read_generation(record, host) if record else None
    except BringupError:
        return None


def requirements(stored: Mapping[str, Stored], facts: Mapping[str, HostFacts], *, at: float | None) -> Requirements:
    """Of the hosts in `stored`, which has one at least; all are of one generation."""
    first = next(iter(stored.values()))
    gang, one = first.gang, first.command
    several, head = len(gang.members) > 1, gang.members[0]
    told = first.options
    data_parallel = number(told, "--data-parallel-size") or 1
    return Requirements(
        hosts=tuple(of_host(host, own, facts[host]) for host, own in stored.items()),
        head=head.host,
        head_address=head.address or None if several else None,
        vllm_version=gang.vllm,
        data_parallel_size=data_parallel,
        ranks=tuple(member.host for member in gang.members for _ in range(member.ranks)),
        argv_errors=(),
        environment=None if one.container else _environment(one.program),
        name=gang.name,
        hardware=gang.hardware or None,
        layout=_layout(first, data_parallel),
        container=_container(one) if one.container else None,
        rdma=_rdma(stored, facts),
        mnnvl=_mnnvl(stored, facts),
        shutdown_timeout_s=gang.drain_s,
        stop_timeout_s=None if one.container else STOP_TIMEOUT_S + gang.drain_s,
        at=at,
    )


def of_host(host: str, stored: Stored, facts: HostFacts) -> HostRequirements:
    gang, member, command = stored.gang, stored.member, stored.command
    several = len(gang.members) > 1
    env, folder = command.env, FOLDER.fullmatch(command.folder)
    shown = {name: value for name, value in env.items() if HIDDEN not in value}
    gpus = gpus_of(stored)
    return HostRequirements(
        host=host,
        gpus=gpus or (),
        gpu_profile=None if gang.hardware in {"", CPU} else gang.hardware,
        memory_per_gpu_bytes=None,
        host_memory_bytes=None,
        processes=_processes(stored) if gpus is not None else Processes(0, 0, 0, 0, 0),
        address=member.address or None if several else None,
        interface=env.get("GLOO_SOCKET_IFNAME") if several else None,
        ports=ports_of(stored),
        space=(Space(folder["state"], STATE_BYTES, "state"),) if folder else (),
        own_pids=own_pids(facts, gang.name),
        argv=(command.program, "serve", command.model, *command.options),
        env=tuple(shown.items()),
        weights=_weights(command.model) if folder and command.model.startswith(f"{folder['state']}/") else None,
        numa_bind="--numa-bind" in stored.options,
        gpu_memory_utilization=_utilization(command, gang.vllm) if gpus else None,
    )


def gpus_of(stored: Stored) -> tuple[int, ...] | None:
    """The GPUs that ranks of this host use, none on CPUs; None: the record is of a time before it told that.

    By name where they are named, else the first ones, which is what vLLM takes.
    """
    if stored.gang.hardware == CPU:
        return ()
    named = _named(stored.command)
    if named is not None:
        return named
    return tuple(range(_workers(stored))) if stored.gang.hardware else None


def _named(command: StoredCommand) -> tuple[int, ...] | None:
    words = " ".join(command.arguments)
    if match := DOCKER_GPUS.search(words):
        return tuple(map(int, filter(None, match["listed"].split(","))))
    if cdi := CDI_GPU.findall(words):
        return tuple(map(int, cdi))
    listed = next((command.env[name] for name in VISIBLE if name in command.env), None)
    if listed is None or not re.fullmatch(r"\d+(?:,\d+)*", listed):
        return None
    return tuple(map(int, listed.split(",")))


def _workers(stored: Stored) -> int:
    told = stored.options
    each = (number(told, "--tensor-parallel-size") or 1) * (number(told, "--pipeline-parallel-size") or 1)
    spans = number(told, "--nnodes") or 1
    return each // spans if spans > 1 else each * max(stored.member.ranks, 1)


def _processes(stored: Stored) -> Processes:
    member, told = stored.member, stored.options
    api_servers = max(member.servers, number(told, "--api-server-count") or 1) if member.url else 0
    return counted(
        serves=bool(member.url),
        local=member.ranks,
        workers=_workers(stored),
        api_servers=api_servers,
        each_serves=stored.gang.load_balancing in {"hybrid", "external"},
        coordinates=member is stored.gang.members[0] and (number(told, "--data-parallel-size") or 1) > 1,
    )


def ports_of(stored: Stored) -> tuple[int, ...]:
    """TCP ports that this host listens on: endpoints, on the head the one where ranks join, and its guard's."""
    gang, member, told = stored.gang, stored.member, stored.options
    ports = [int(url.rpartition(":")[2]) for url in member.urls]
    named = ["--data-parallel-supervisor-port"]
    if member is gang.members[0] and (len(gang.members) > 1 or (number(told, "--data-parallel-size") or 1) > 1):
        named += ["--data-parallel-rpc-port", "--master-port"]
    ports += [port for name in named if (port := number(told, name))]
    return (*ports, *([gang.guard_port] if gang.guard_port else []))


def own_pids(facts: HostFacts, name: str) -> tuple[int, ...]:
    """Processes of the deployment while its main process lives, with all that they started.

    Afterwards its ranks are left over; a guard is no rank and stays ours.
    """
    pids = {
        pid
        for one in own_deployments(facts, name)
        for pid in (one.holders if one.state == "running" else one.guard_pids)
    }
    parents = {one.pid: one.parent for one in facts.processes} if is_known(facts.processes) else {}
    while more := {pid for pid, parent in parents.items() if parent in pids and pid not in pids}:
        pids |= more
    return tuple(sorted(pids))


def _weights(path: str) -> ExpectedWeights:
    repo, _, commit = path.rpartition("/")
    return ExpectedWeights(repo.rpartition("/")[2].replace("--", "/", 1), commit, path)


def _utilization(command: StoredCommand, version: str) -> float | None:
    try:
        return utilization(parse(("serve", command.model, *command.options), version))
    except UnknownVersion:
        return None


def _environment(program: str) -> str | None:
    match = ENVIRONMENT.search(program)
    return match["digest"] if match else None


def _layout(stored: Stored, data_parallel: int) -> Layout:
    told, gang = stored.options, stored.gang
    return Layout(
        nodes=len(gang.members),
        tensor_parallel=number(told, "--tensor-parallel-size") or 1,
        pipeline_parallel=number(told, "--pipeline-parallel-size") or 1,
        data_parallel=data_parallel,
        expert_parallel="--enable-expert-parallel" in told,
        load_balancing=BALANCING.get(gang.load_balancing),
    )


def _container(command: StoredCommand) -> Container:
    stop = next(
        (int(two) for one, two in pairwise(command.arguments) if one == "--stop-timeout" and two.isdigit()), None
    )
    return Container(
        image=command.image,
        arguments=command.arguments,
        stop_timeout_s=stop,
        started_by=command.image,
        engine=command.container or "docker",
    )


def _rdma(stored: Mapping[str, Stored], facts: Mapping[str, HostFacts]) -> bool | None:
    first = next(iter(stored.values()))
    if len(first.gang.members) < 2 or first.gang.hardware == CPU:
        return False
    return rdma_of([one.command.env for one in stored.values()], [facts[host] for host in stored])


def _mnnvl(stored: Mapping[str, Stored], facts: Mapping[str, HostFacts]) -> bool | None:
    first = next(iter(stored.values()))
    hardware, told = first.gang.hardware, first.options
    if len(first.gang.members) < 2 or (hardware and hardware not in RACKS):
        return False
    wide = (number(told, "--nnodes") or 1) > 1 or "--enable-expert-parallel" in told
    envs = [one.command.env for one in stored.values()]
    return mnnvl_of(envs, [facts[host] for host in stored], wide=wide) if hardware else None
