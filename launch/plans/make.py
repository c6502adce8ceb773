"""From an outline and the facts to the plan document. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.errors import BringupError, CheckFailed
from launch.building.requirements import argv_errors
from launch.choosing.hardware import CPU
from launch.plans import document
from launch.plans.alternatives import FITS, alternatives_of, nearest
from launch.plans.fit import memory_of
from launch.plans.hosts import hosts_of
from launch.plans.images import image_of_recipe
from launch.plans.inputs import inputs_of
from launch.vllm_args.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inventory.facts.host import HostFacts
    from launch.choosing.outline import Outline
    from launch.placing.placement import Placement


REFUSED = "plan.flags_parse"
"""The check that refuses the same of a deploy."""


def plan_of(
    outline: Outline, facts: Mapping[str, HostFacts], asked: Sequence[tuple[str, str]] = (), *, assumed: bool = False
) -> document.LaunchPlan:
    """The document. `asked`: the flags as typed. `assumed`: the facts are those of a profile, not of hosts."""
    choice, placement = outline.choice, outline.decision.placement
    head = outline.decision.commands[0]
    hosts = hosts_of(outline.decision, facts)
    smallest = smallest_gpu(hosts)
    used = sum(gpu.rank is not None for host in hosts for gpu in host.gpus)
    data = placement.data_parallel_size
    memory = memory_of(choice, head.argv, nodes=len(hosts), gpus=used, data=data, gpu_bytes=smallest)
    recipe = choice.found.recipe
    return document.LaunchPlan(
        format_version=document.FORMAT_VERSION,
        name=outline.name,
        inputs=inputs_of(choice, asked, facts, assumed=assumed),
        model=document.Model(
            recipe=choice.found.id,
            variant=choice.variant,
            repository=choice.model_id,
            commit=outline.commit,
            precision=choice.place.variant.precision,
            served_name=outline.name,
            features=choice.features.names,
        ),
        engine=document.Engine(
            vllm=choice.vllm,
            distribution=recipe.bringup.distribution,
            environment=next((one.digest for one in outline.engines.values()), None),
            image=image_of_recipe(choice),
            by_hand=not any(one.digest for one in outline.engines.values()),
        ),
        layout=_layout(outline, placement, head.argv),
        hosts=hosts,
        left_out=choice.left_out,
        memory=memory,
        reasons=placement.reasons,
        alternatives=alternatives_of(outline, memory, smallest, assumed=assumed),
        obstacles=(*map(_obstacle, outline.obstacles), *_refused_words(outline)),
        contested=tuple(
            document.Contested(one.what, one.value, one.source, one.others) for one in recipe.bringup.sources
        ),
    )


def smallest_gpu(hosts: Sequence[document.Host]) -> int | None:
    """Bytes of the smallest GPU that is used; None when one does not tell, or none is used."""
    sizes = [gpu.memory_bytes for host in hosts for gpu in host.gpus if gpu.rank is not None]
    return None if None in sizes or not sizes else min(size for size in sizes if size is not None)


def _layout(outline: Outline, placement: Placement, argv: Sequence[str]) -> document.Layout:
    expert = bool(parse(argv[1:], outline.choice.vllm).values.get("enable_expert_parallel"))
    return document.Layout(
        strategy=outline.choice.strategy,
        hardware=outline.choice.hardware,
        load_balancing=placement.load_balancing,
        nodes=len(placement.nodes),
        tensor_parallel=placement.tensor_parallel_size,
        pipeline_parallel=placement.pipeline_parallel_size,
        data_parallel=placement.data_parallel_size,
        expert_parallel=placement.tensor_parallel_size * placement.data_parallel_size if expert else 1,
        hosts_per_rank=placement.hosts_per_rank,
        http_port=placement.http_port,
        rpc_port=placement.rpc_port,
    )


def _obstacle(error: BringupError) -> document.Obstacle:
    return document.Obstacle(error.id, error.message, error.observed, error.required, error.next_command, error.host)


def _refused_words(outline: Outline) -> Iterator[document.Obstacle]:
    """What the pinned version, or the recipe's own constraints, refuse of the head's command."""
    command = outline.decision.commands[0]
    for host, error in argv_errors(command, outline.decision):
        yield document.Obstacle(
            id=REFUSED,
            message=f"vLLM {outline.choice.vllm} or the recipe refuses the command",
            observed=error,
            required="a command that both take",
            next_command="the same command without --strategy, --variant and --set",
            host=host,
        )


def refuse_unfit(plan: document.LaunchPlan) -> None:
    """Raise when the plan cannot start: which constraint, by how much, and the nearest that would.

    Raises `CheckFailed` for a command that is refused, for weights or cache that do not fit, and for a host with fewer
    than 2 + N cores.
    """
    for one in plan.obstacles:
        if one.id == REFUSED:
            raise CheckFailed(
                one.message,
                id=one.id,
                observed=one.observed,
                required=one.required,
                next_command=one.next_command,
                host=one.host,
            )
    memory = plan.memory
    if memory.fits is False:
        raise CheckFailed(
            f"{plan.model.recipe} does not fit {len(plan.hosts)} x {plan.layout.hardware}",
            id="plan.vram_fit",
            observed=f"{_gb(memory.there_bytes)} for {memory.of}, {_gb(_short(memory))} short",
            required=f"{_gb(memory.needed_bytes)} ({memory.source})",
            next_command=_next(plan),
        )
    few = [host for host in plan.hosts if _starved(host, plan)]
    if few:
        counts = "; ".join(f"{host.name}: {host.processes.cores} cores" for host in few)
        raise CheckFailed(
            "the hosts have too few physical cores for their GPUs",
            id="cpu.physical_cores",
            observed=counts,
            required=f"2 + N = {few[0].processes.least_cores} on each: an API server, an engine core, a worker a GPU",
            next_command=_next(plan),
        )


def _starved(host: document.Host, plan: document.LaunchPlan) -> bool:
    cores = host.processes.cores
    return plan.layout.hardware != CPU and cores is not None and cores < host.processes.least_cores


def _short(memory: document.Memory) -> int | None:
    if memory.needed_bytes is None or memory.there_bytes is None:
        return None
    return memory.needed_bytes - memory.there_bytes


def _gb(size: int | None) -> str:
    return "an unknown size" if size is None else f"{size / 1e9:,.1f} GB"


def _next(plan: document.LaunchPlan) -> str:
    """The feasible alternatives, as flags for the same command."""
    able = nearest(plan.alternatives)
    if not able:
        return "invoke recipes.list: no variant, layout or number of nodes that was tried holds this model here"
    said = (one.flags if one.flags.startswith("without ") else f"with {one.flags}" for one in able)
    doubt = "" if able[0].outcome == FITS else ": not known to fit, and not known not to"
    return "the same command " + ", or ".join(said) + doubt
