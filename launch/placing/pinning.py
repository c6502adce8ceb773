"""Where the processes of one host belong, and what holds them there. Pure.

vLLM's own binding (`--numa-bind`) is used where it is known to work in a process that we start, with every node said:
its detection refuses to start under any CPU affinity. Elsewhere systemd holds the whole unit. Never both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from inventory.facts.cpulist import format_list
from launch.building.command import api_server_count
from launch.choosing.reasons import Reason
from launch.placing.api_servers import api_servers_of
from launch.placing.cores import API_SERVER, ENGINE_CORE, OTHERS, WORKER, Cpus, Process, divide
from launch.placing.placement import Binding, Pins
from launch.placing.processes import processes_of
from launch.vllm_args.parse import load

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from launch.placing.placement import Node, Placement
    from playbooks.requirements import Processes

RULE = "each process has a core with all its hardware threads, next to a GPU on its node"
THREADS = "VLLM_CPU_OMP_THREADS_BIND"
SOURCE = "vLLM: optimization and tuning, CPU resources"
BINDER = "vLLM 0.33.0, vllm/utils/numa_utils.py"
NUMA_POLICY_SINCE = 243
"""The systemd that has `NUMAPolicy=`."""
MANY_SERVERS = "each of several servers of a host would take the nodes of the first one's GPUs for its own"
THREADS_KNOWN_ON = ("x86_64", "aarch64")
PRIORITY_CORES = ("6776P", "6774P", "6962P")
"""Processors whose fastest cores vLLM 0.33.0 binds to by itself, unless it is told other CPUs."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What one host offers: its cores by NUMA node that has CPUs, and the node of each worker (None: not known)."""

    cores: Mapping[int, tuple[Cpus, ...]]
    homes: tuple[int | None, ...]
    memory: tuple[int, ...]  # nodes that have memory, also those without CPUs

    @property
    def used(self) -> tuple[int, ...]:
        return tuple(sorted({node for node in self.homes if node is not None}))


def settled(
    placement: Placement,
    argv: Sequence[str],
    env: Mapping[str, str],
    facts: Mapping[str, HostFacts],
    *,
    version: str,
    systemd: Mapping[str, bool],
    wanted: bool = True,
) -> Placement:
    """`placement` with the API servers and the pins of every host, and the reasons for both.

    `argv`, `env`: the head's, by the recipe. `wanted` False: the operator wants nothing bound.
    """
    nodes, reasons = [], list(placement.reasons)
    for node in placement.nodes:
        here = facts[node.host]
        count, why = api_servers_of(node, placement, argv, here)
        counted = replace(node, api_servers=count)
        reasons += [why] if why else []
        if wanted:
            api_servers = api_server_count(argv, counted, placement)
            pins, whys = pin(
                counted, placement, here, env, api_servers=api_servers, version=version, systemd=systemd[node.host]
            )
            counted, reasons = replace(counted, pins=pins), [*reasons, *whys]
        nodes.append(counted)
    if not wanted:
        reasons.append(Reason("pinning", "bound to nothing", "asked for", source="--pinning off"))
    return replace(placement, nodes=tuple(nodes), reasons=tuple(reasons))


def pin(
    node: Node,
    placement: Placement,
    facts: HostFacts,
    env: Mapping[str, str],
    *,
    api_servers: int,
    version: str,
    systemd: bool,
) -> tuple[Pins, tuple[Reason, ...]]:
    """The places of the processes of `node`, and why.

    `env`: of the recipe. `version`: of vLLM. `systemd`: it will run them, else a plain process group does.
    """
    about = f"pinning of {node.host}"
    ground = _ground(node, placement, facts)
    if ground is None:
        return Pins(), (Reason(about, "none", "CPUs, cores or NUMA nodes of the host are unknown"),)
    counts = processes_of(node, placement, api_servers=api_servers)
    has_gpus = any(rank.gpus for rank in node.ranks)
    shares = _divided(ground, node, placement, counts, has_gpus=has_gpus)
    reasons = [_split(about, ground, counts, shares)]
    if not has_gpus:
        pins, why = _threads(about, ground, shares, facts, env)
    elif refusal := (MANY_SERVERS if placement.supervisor_port else "") or _no_numa_bind(ground, facts, version):
        pins, why = _unit(about, ground, facts, counts, refusal, systemd=systemd)
    else:
        pins, why = _numa_bind(about, ground, shares, facts)
    homes = tuple(home for home in ground.homes if home is not None)
    return replace(pins, worker_nodes=homes if len(homes) == len(ground.homes) else ()), (*reasons, why)


def _ground(node: Node, placement: Placement, facts: HostFacts) -> Ground | None:
    if not is_known(facts.cpu) or not is_known(facts.numa) or not facts.cpu.cores:
        return None
    owner = {cpu: one.id for one in facts.numa if one.allowed for cpu in one.cpus}
    allowed = _allowed(facts)
    cores: dict[int, list[Cpus]] = {}
    for core in facts.cpu.cores:
        usable = tuple(cpu for cpu in core if cpu in owner and (allowed is None or cpu in allowed))
        if usable:
            cores.setdefault(owner[usable[0]], []).append(usable)
    homes = _homes(node, placement, facts, tuple(sorted(cores)))
    memory = tuple(one.id for one in facts.numa if one.memory_bytes)
    return Ground({home: tuple(cores[home]) for home in sorted(cores)}, homes, memory) if cores else None


def _allowed(facts: HostFacts) -> frozenset[int] | None:
    """The CPUs of the launch context, which may be others than those of a login; None: it does not tell."""
    if is_known(facts.context) and is_known(facts.context.cpus_allowed):
        return frozenset(facts.context.cpus_allowed)
    return None


def _homes(node: Node, placement: Placement, facts: HostFacts, nodes: tuple[int, ...]) -> tuple[int | None, ...]:
    """The node of every worker. Without GPUs the workers are spread over the nodes."""
    used = [gpu for rank in node.ranks for gpu in rank.gpus]
    if not used:
        workers = len(node.ranks) * placement.gpus_per_part
        return tuple(nodes[worker * len(nodes) // workers] for worker in range(workers)) if nodes else ()
    known = {gpu.index: gpu.numa_node for gpu in facts.gpus.devices} if is_known(facts.gpus) else {}
    only = nodes[0] if len(nodes) == 1 else None
    return tuple(home if (home := known.get(gpu)) in nodes else only for gpu in used)


def _divided(
    ground: Ground, node: Node, placement: Placement, counts: Processes, *, has_gpus: bool
) -> dict[Process, Cpus] | None:
    if None in ground.homes:
        return None
    width = placement.gpus_per_part
    processes = [Process(WORKER, number, home) for number, home in enumerate(ground.homes)]
    processes += [
        Process(ENGINE_CORE, number, ground.homes[number * width]) for number in range(placement.engine_cores(node))
    ]
    processes += [Process(API_SERVER, number) for number in range(counts.api_servers)]
    processes += [Process(OTHERS, number) for number in range(counts.launchers + counts.coordinators)]
    # Where the CPUs compute, all that is left is for the workers; next to GPUs nobody knows who needs more.
    return divide(ground.cores, processes, (API_SERVER, WORKER, ENGINE_CORE) if has_gpus else (WORKER,))


def _split(about: str, ground: Ground, counts: Processes, shares: Mapping[Process, Cpus] | None) -> Reason:
    numbers = (
        *((f"cores of node {node}", str(len(cores))) for node, cores in ground.cores.items()),
        ("processes", str(counts.total)),
    )
    if shares is not None:
        return Reason(about, "the cores suffice", RULE, numbers, SOURCE)
    if None in ground.homes:
        return Reason(about, "no division of cores", "the NUMA node of a GPU is unknown", numbers, "facts")
    rule = "a node has fewer cores than processes that belong to it"
    return Reason(about, "processes share cores", rule, numbers, SOURCE, warns=True)


def _no_numa_bind(ground: Ground, facts: HostFacts, version: str) -> str:
    """Why vLLM is not asked to bind; empty where it may."""
    if "numa_bind_nodes" not in load(version)["options"]:
        return f"vLLM {version} cannot"
    if None in ground.homes:
        return "the NUMA node of a GPU is unknown"
    if not is_known(facts.numa_bind):
        return "nobody has tried whether numactl may bind here"
    if not facts.numa_bind.numactl:
        return "the host has no numactl"
    refused = [node for node in ground.used if node not in facts.numa_bind.cpu]
    return f"numactl may not bind to the CPUs of node {refused[0]}" if refused else ""


def _numa_bind(
    about: str, ground: Ground, shares: Mapping[Process, Cpus] | None, facts: HostFacts
) -> tuple[Pins, Reason]:
    said = [str(node) for node in ground.homes]
    allowed = facts.numa_bind.memory if is_known(facts.numa_bind) else ()
    rule = "numactl may bind here, and every node is said, so that vLLM detects nothing"
    if not set(ground.used) <= set(allowed):
        rule += "; memory it may not bind, and vLLM then leaves that out"
    if shares is not None and _has_priority_cores(facts):
        rule += "; CPUs of workers are left to vLLM, which knows the fast cores of this processor"
        shares = None
    elif shares is not None:
        rule += "; workers have CPUs of their own, engine cores are held to their node, API servers to nothing"
    numbers = (("nodes of the GPUs", " ".join(said)),)
    return _with_shares(Binding.NUMA_BIND, shares), Reason(about, "--numa-bind", rule, numbers, BINDER)


def _has_priority_cores(facts: HostFacts) -> bool:
    return is_known(facts.cpu) and any(name in facts.cpu.model for name in PRIORITY_CORES)


def _unit(
    about: str, ground: Ground, facts: HostFacts, counts: Processes, refusal: str, *, systemd: bool
) -> tuple[Pins, Reason]:
    nothing = Pins()
    if not systemd:
        rule = f"{refusal}; a plain process group has nothing else that could bind"
        return nothing, Reason(about, "bound to nothing", rule, source=BINDER)
    if None in ground.homes:
        return nothing, Reason(about, "bound to nothing", refusal, source=BINDER)
    enough = sum(len(ground.cores[node]) for node in ground.used) >= counts.total
    held = ground.used if enough else tuple(ground.cores)
    affinity = tuple(sorted(cpu for node in held for core in ground.cores[node] for cpu in core))
    if len(held) == len(ground.cores):
        affinity = ()
    memory = held if set(ground.memory) - set(held) and _has_numa_policy(facts) else ()
    if not (affinity or memory):
        rule = f"{refusal}; the ranks use every node, and one setting for all of them would hold nobody to anything"
        return nothing, Reason(about, "bound to nothing", rule, source="systemd.exec(5)")
    chosen = [f"CPUAffinity={format_list(affinity)}"] if affinity else []
    chosen += [f"NUMAPolicy=bind, NUMAMask={format_list(memory)}"] if memory else []
    rule = f"{refusal}; systemd holds all processes of the unit to the nodes that have CPUs and whose GPUs are used"
    pins = Pins(Binding.UNIT, affinity=affinity, memory_nodes=memory)
    return pins, Reason(about, "; ".join(chosen), rule, source="systemd.exec(5)")


def _has_numa_policy(facts: HostFacts) -> bool:
    version = facts.software.systemd if is_known(facts.software) else None
    digits = "".join(_leading_digits(version or ""))
    return bool(digits) and int(digits) >= NUMA_POLICY_SINCE


def _leading_digits(text: str) -> Iterator[str]:
    for character in text:
        if not character.isdecimal():
            return
        yield character


def _threads(
    about: str, ground: Ground, shares: Mapping[Process, Cpus] | None, facts: HostFacts, env: Mapping[str, str]
) -> tuple[Pins, Reason]:
    source = "vLLM 0.33.0, vllm/utils/ompmultiprocessing.py"
    if THREADS in env:
        return Pins(), Reason(about, f"{THREADS}={env[THREADS]}", "as the recipe says", source="recipe")
    if shares is None:
        rule = "vLLM divides the CPUs among the threads of its workers by itself"
        return Pins(), Reason(about, f"{THREADS} is left alone", rule, source=source)
    if not is_known(facts.system) or facts.system.architecture not in THREADS_KNOWN_ON:
        rule = "how many threads of a core should compute is known for x86-64 and ARM alone"
        return Pins(), Reason(about, f"{THREADS} is left alone", rule, source=source)
    rule = "the workers compute: a thread on each of their cores, apart from API servers and engine cores"
    # The last hardware thread of a core, as vLLM chooses by itself.
    last = {core[-1] for cores in ground.cores.values() for core in cores}
    pins = _with_shares(Binding.THREADS, shares)
    pins = replace(pins, threads=tuple(tuple(cpu for cpu in cpus if cpu in last) for cpus in pins.workers))
    return pins, Reason(about, THREADS, rule, source=source)


def _with_shares(binding: Binding, shares: Mapping[Process, Cpus] | None) -> Pins:
    found = sorted((shares or {}).items(), key=lambda item: item[0].number)

    def of(kind: str) -> tuple[Cpus, ...]:
        return tuple(cpus for one, cpus in found if one.kind == kind)

    return Pins(
        binding=binding,
        workers=of(WORKER),
        engine_cores=of(ENGINE_CORE),
        api_servers=of(API_SERVER),
        others=tuple(sorted(cpu for cpus in of(OTHERS) for cpu in cpus)),
    )
