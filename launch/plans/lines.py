"""A plan as text: what runs where, the memory, why, what else there is, and what is contested. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.console.tree import draw
from launch.plans.host_tree import tree
from launch.plans.memory_bar import gb, legend
from launch.resolve.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from launch.plans.document import Alternative, Host, LaunchPlan, Memory, MemoryPart


def lines(plan: LaunchPlan) -> Iterator[str]:
    yield from _summary(plan)
    yield from memory_lines(plan.memory)
    for host in plan.hosts:
        yield ""
        yield from _host(host, plan.memory.parts)
    yield from _section("left out", (f"{name}: {why}" for name, why in plan.left_out))
    yield from _section("why", map(str, plan.reasons))
    yield from _section("alternatives", map(_alternative, plan.alternatives))
    yield from _section(
        "deploy would not carry this out",
        (f"{one.message} [{one.id}]; {one.observed}; next: {one.next_command}" for one in plan.obstacles),
    )
    contested = (f"{one.what}: {one.value} ({one.source}); others: {'; '.join(one.others)}" for one in plan.contested)
    yield from _section("contested", contested)


def _section(title: str, found: Iterator[str]) -> Iterator[str]:
    for at, line in enumerate(found):
        if at == 0:
            yield ""
            yield f"{title}:"
        yield f"  {line}"


def _summary(plan: LaunchPlan) -> Iterator[str]:
    layout, model = plan.layout, plan.model
    yield f"{plan.name}: {model.repository} ({model.variant}, {model.precision or 'precision not told'})"
    yield f"  on {layout.nodes} x {layout.hardware}, {layout.strategy}: {sizes(plan)}; vLLM {plan.engine.vllm}"
    if plan.inputs.assumed:
        yield "  no hosts were asked: these are assumed from the hardware profile, and nothing of them is a fact"
    if plan.inputs.simulated:
        yield "  simulated: the hardware of a host is made up"
    yield f"  plan {plan.inputs.digest}, recipe {model.recipe} at {plan.inputs.recipe}"


def sizes(plan: LaunchPlan) -> str:
    layout = plan.layout
    parts = [f"TP {layout.tensor_parallel}"]
    parts += [f"PP {layout.pipeline_parallel}"] if layout.pipeline_parallel > 1 else []
    parts += [f"DP {layout.data_parallel}"]
    parts += [f"EP {layout.expert_parallel}"] if layout.expert_parallel > 1 else []
    balancing = "" if layout.load_balancing == "none" else f", {layout.load_balancing} load balancing"
    return " x ".join(parts[:2]) + "".join(f", {one}" for one in parts[2:]) + balancing


def memory_lines(memory: Memory) -> Iterator[str]:
    verdict = {True: "it fits", False: "it does not fit", None: "it may not fit"}[memory.fits]
    numbers = f"{gb(memory.needed_bytes)} needed of {gb(memory.there_bytes)}, {memory.of}"
    yield f"memory: {verdict}: {'not all figures are known' if memory.needed_bytes is None else numbers}"
    if memory.parts:
        yield "  a GPU: " + legend(memory.parts)
    if memory.kv_tokens is not None:
        most = "at most " if memory.is_bound else ""
        requests = f"; {memory.concurrency:g} requests of {memory.context:,} tokens" if memory.concurrency else ""
        yield f"  KV cache: {most}{memory.kv_tokens:,} tokens a rank, {memory.kv_tokens_gang:,} in all{requests}"
    for one in memory.unknown:
        yield f"  unknown: {one}"


def _host(host: Host, parts: Sequence[MemoryPart]) -> Iterator[str]:
    """The tree, and below it what runs there, as it can be copied."""
    yield from draw(tree(host, parts))
    yield from (f"  env {key}={value}" for key, value in host.env)
    yield "  " + shown(host.argv).replace("\n", "\n  ")


def _alternative(one: Alternative) -> str:
    what = f"{one.flags}: {one.variant}, {one.strategy or 'no strategy'}, {one.nodes} node(s)"
    if one.short_bytes:
        doubt = "" if one.outcome == "short" else "may be "
        numbers = f"{gb(one.needed_bytes)} of {gb(one.there_bytes)}"
        return f"{what}: {doubt}short by {gb(one.short_bytes)} ({one.why}: {numbers})"
    if one.outcome == "refused":
        return f"{what}: refused: {one.why}"
    tokens = "KV tokens unknown" if one.kv_tokens is None else f"{one.kv_tokens:,} KV tokens"
    return f"{what}: {one.outcome}, {one.gpus} GPUs, {tokens}"
