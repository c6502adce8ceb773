"""The choice again where its memory is certainly too small for one GPU: another layout, or other weights. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.facts.base import is_known
from launch.catalogue.cases import filled
from launch.choosing.choice import Choice, pick
from launch.choosing.decide import of_head
from launch.choosing.reasons import Reason
from launch.placing.layout import layout_of
from launch.placing.usable import usable
from launch.plans.fit import GANG, memory_of
from launch.resolve.gates import effective_strategies

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.catalogue.find import Found
    from launch.plans.document import Memory
    from launch.request import Request

SOURCE = "the forecast of invoke memory"


def fitting(found: Found, request: Request, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> Choice:
    """What the recipe says for these hosts; where that cannot start, the first of its strategies and variants that can.

    What was typed stays as it is. Where nothing else fits either, the choice stays too: its plan says by how much.
    """
    choice = pick(found, request, hosts, facts)
    memory = _memory(choice, request, facts)
    if memory is None or memory.fits is not False or memory.of == GANG:
        return choice
    for other in _others(choice, request):
        candidate = _picked(found, other, hosts, facts)
        judged = _memory(candidate, other, facts) if candidate else None
        if candidate and judged and judged.fits:
            return _explained(candidate, choice, memory)
    return choice


def _others(choice: Choice, request: Request) -> Iterator[Request]:
    """The same weights in another layout first, then other weights."""
    recipe, library = choice.found.recipe, choice.found.library
    if not request.strategy:
        type_ = library.strategy(choice.strategy).deploy_type
        alike = (name for name in effective_strategies(recipe) if library.strategy(name).deploy_type == type_)
        yield from (
            replace(request, strategy=name, variant=choice.variant) for name in alike if name != choice.strategy
        )
    if not request.variant:
        yield from (replace(request, variant=name) for name in recipe.variants if name != choice.variant)


def _picked(found: Found, request: Request, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> Choice | None:
    try:
        return pick(found, request, hosts, facts)
    except BringupError:
        return None


def _memory(choice: Choice, request: Request, facts: Mapping[str, HostFacts]) -> Memory | None:
    """None where it cannot be laid out so at all, which is told by whoever lays it out."""
    nodes = len(choice.hosts)
    try:
        argv = filled(of_head(choice, request, nodes).argv)
        layout = layout_of(choice, request, argv, nodes)
    except BringupError:
        return None
    if not layout.needs_gpus or layout.ranks_per_host * layout.width > choice.place.profile.gpus:
        return None
    gpus = layout.ranks_per_host * layout.width * nodes
    data = layout.ranks_per_host * nodes // layout.hosts_per_rank
    return memory_of(choice, argv, nodes=nodes, gpus=gpus, data=data, gpu_bytes=_smallest(choice, facts))


def _smallest(choice: Choice, facts: Mapping[str, HostFacts]) -> int | None:
    """Bytes of the smallest GPU that a rank may get; None where one does not tell."""
    known = [gpus for host in choice.hosts if is_known(gpus := facts[host.name].gpus)]
    sizes = [gpu.memory_bytes for gpus in known for gpu in usable(gpus)]
    told = [size for size in sizes if size is not None]
    return min(told) if told and len(told) == len(sizes) else None


def _explained(candidate: Choice, passed: Choice, memory: Memory) -> Choice:
    """The candidate with the reason why it is not what the recipe says first."""
    what = "variant" if candidate.variant != passed.variant else "strategy"
    chosen, first = getattr(candidate, what), getattr(passed, what)
    numbers = ((f"{first} needs", _gb(memory.needed_bytes)), ("there is", _gb(memory.there_bytes)))
    rule = f"{first}, which comes first, does not fit ({memory.of}), and this is the first that does"
    why = Reason(what, chosen, rule, numbers, SOURCE, warns=True)
    kept = {one.decision: one for one in passed.reasons}
    reasons = (
        why if one.decision == what else kept.get(one.decision, one) if one.decision == "variant" else one
        for one in candidate.reasons
    )
    return replace(candidate, reasons=tuple(reasons))


def _gb(size: int | None) -> str:
    return "an unknown size" if size is None else f"{size / 1e9:,.1f} GB"
