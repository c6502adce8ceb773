"""What else these hosts could run, and what it would cost: variants, strategies, numbers of nodes, options. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.errors import BringupError, Several
from launch.catalogue.cases import filled
from launch.choosing.decide import of_head
from launch.choosing.features import features_for
from launch.choosing.offer import strategy_of, why_not_here
from launch.choosing.settings import Setting, dest_of
from launch.choosing.settings_check import SIZE_FLAGS
from launch.placing.layout import layout_of
from launch.plans.document import Alternative
from launch.plans.fit import longest, memory_of
from launch.resolve import Case
from launch.resolve.constraints import unmet
from launch.resolve.gates import Place, effective_strategies, floor, least_nodes, offered, supported
from launch.vllm_args.parse import load, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launch.choosing.choice import Choice
    from launch.choosing.outline import Outline
    from launch.placing.place import Layout
    from launch.plans.document import Memory
    from launch.request import Request

FITS, SHORT, REFUSED, UNKNOWN = "fits", "short", "refused", "unknown"


@dataclass(frozen=True, slots=True)
class Other:
    """A choice that differs from the plan's. `strategy` None: the recipe's for this number of nodes.

    `setting`: one more, in place of the same option's; `without`: those that were typed and are taken back.
    """

    flags: str
    variant: str
    strategy: str | None
    nodes: int
    setting: Setting | None = None
    without: tuple[Setting, ...] = ()


def alternatives_of(
    outline: Outline, memory: Memory, gpu_bytes: int | None, *, assumed: bool = False
) -> tuple[Alternative, ...]:
    """The others of a plan whose memory is `memory`. `gpu_bytes`: of the smallest GPU that it uses.

    `assumed`: there are as many hosts as --nodes says, and else those that were asked for.
    """
    choice = outline.choice
    most = None if assumed else len(choice.hosts) + len(choice.left_out)
    return tuple(_judged(outline, other, gpu_bytes) for other in _others(outline, memory, most))


def _others(outline: Outline, memory: Memory, most: int | None) -> Iterator[Other]:
    """`most`: hosts that there are; None: any number."""
    choice, nodes = outline.choice, len(outline.choice.hosts)
    yield from _options(outline, memory, nodes)
    sized = tuple(one for one in outline.request.settings if one.flag in SIZE_FLAGS)
    if sized and memory.fits is False:
        yield Other(f"without {' '.join(map(str, sized))}", choice.variant, choice.strategy, nodes, without=sized)
    for count in sorted({1, nodes // 2, nodes + 1, 2 * nodes} - {0, nodes}):
        flags = f"--nodes {count}" if most is None or count <= most else f"{count - most} more host(s) in --hosts"
        yield Other(flags, choice.variant, None, count)
    for variant in choice.found.recipe.variants:
        if variant != choice.variant:
            yield Other(f"--variant {variant}", variant, None, nodes)
    type_ = choice.found.library.strategy(choice.strategy).deploy_type
    for strategy in effective_strategies(choice.found.recipe):
        if strategy != choice.strategy and choice.found.library.strategy(strategy).deploy_type == type_:
            yield Other(f"--strategy {strategy}", choice.variant, strategy, nodes)


def _options(outline: Outline, memory: Memory, nodes: int) -> Iterator[Other]:
    """A smaller cache per token, and where one request does not fit, a context that does."""
    choice = outline.choice
    values = parse(outline.decision.commands[0].argv[1:], choice.vllm).values
    wanted = []
    if values.get("kv_cache_dtype", "auto") == "auto" and memory.kv_tokens is not None:
        wanted.append(Setting("kv-cache-dtype", "fp8"))
    if not memory.fits and memory.kv_tokens and memory.context:
        argv = outline.decision.commands[0].argv
        length = longest(choice, argv, gpu_bytes=memory.gpu_bytes, most=memory.context)
        wanted += [Setting("max-model-len", str(length))] if length else []
        wanted += [Setting("max-num-batched-tokens", "4096"), Setting("gpu-memory-utilization", "0.95")]
    for one in wanted:
        yield Other(str(one), choice.variant, choice.strategy, nodes, one)


def _judged(outline: Outline, other: Other, gpu_bytes: int | None) -> Alternative:
    try:
        return _costed(outline, other, gpu_bytes)
    except BringupError as error:
        first = error.errors[0] if isinstance(error, Several) else error
        return _refused(outline.choice, other, f"{first.message}: {first.observed}")


def _refused(choice: Choice, other: Other, why: str) -> Alternative:
    return Alternative(
        flags=other.flags,
        variant=other.variant,
        strategy=other.strategy or "",
        nodes=other.nodes,
        gpus=0 if choice.hardware == "cpu" else choice.place.profile.gpus * other.nodes,
        outcome=REFUSED,
        why=why,
    )


def _costed(outline: Outline, other: Other, gpu_bytes: int | None) -> Alternative:
    choice = outline.choice
    place = Place(choice.found.recipe, choice.found.library, other.variant, choice.hardware)
    if not offered(place):
        return _refused(choice, other, why_not_here(place))
    strategy = other.strategy or strategy_of(place, other.nodes)
    if reason := _why_not(place, strategy, other.nodes):
        return _refused(choice, other, reason)
    request = _with(outline.request, other, choice.vllm)
    candidate = _candidate(choice, request, other, strategy)
    argv = filled(of_head(candidate, request, other.nodes).argv)
    layout = layout_of(candidate, request, argv, other.nodes)
    parsed = parse(argv, choice.vllm)
    broken = next(iter(unmet(place, strategy, parsed)), None)
    if broken is not None:
        return _refused(choice, replace(other, strategy=strategy), str(broken))
    if layout.needs_gpus and layout.ranks_per_host * layout.width > place.profile.gpus:
        why = f"{layout.ranks_per_host * layout.width} GPUs a host, and there are {place.profile.gpus}"
        return _refused(choice, replace(other, strategy=strategy), why)
    return _sized(candidate, other, argv, layout, gpu_bytes)


def _candidate(choice: Choice, request: Request, other: Other, strategy: str) -> Choice:
    found = choice.found
    case = Case(found.recipe, found.library, other.variant, strategy, choice.hardware, node_count=other.nodes)
    return replace(
        choice,
        variant=other.variant,
        strategy=strategy,
        model_id=found.recipe.model_id(other.variant),
        features=features_for(case, request.features, request.no_features),
    )


def _sized(
    candidate: Choice, other: Other, argv: tuple[str, ...], layout: Layout, gpu_bytes: int | None
) -> Alternative:
    data = layout.ranks_per_host * other.nodes // layout.hosts_per_rank
    gpus = layout.ranks_per_host * layout.width * other.nodes if layout.needs_gpus else 0
    memory = memory_of(candidate, argv, nodes=other.nodes, gpus=gpus, data=data, gpu_bytes=gpu_bytes)
    outcome = {True: FITS, False: SHORT, None: UNKNOWN}[memory.fits]
    return Alternative(
        flags=other.flags,
        variant=other.variant,
        strategy=candidate.strategy,
        nodes=other.nodes,
        gpus=gpus,
        outcome=outcome,
        why="" if outcome == FITS else memory.of,
        needed_bytes=memory.needed_bytes,
        there_bytes=memory.there_bytes,
        kv_tokens=memory.kv_tokens_gang,
    )


def _why_not(place: Place, strategy: str, nodes: int) -> str:
    if not supported(place, strategy):
        return f"the recipe does not have {strategy} on {place.hardware}"
    if least_nodes(place, strategy) > nodes:
        return f"it needs {floor(place, strategy)} GPUs (strategy_min_gpus), and there are {place.profile.gpus * nodes}"
    return ""


def _with(request: Request, other: Other, version: str) -> Request:
    """The request with the option of `other` in place of the same one, or without those that it takes back."""
    if other.without:
        return replace(request, settings=tuple(one for one in request.settings if one not in other.without))
    if other.setting is None:
        return request
    flags = load(version)["flags"]
    kept = [one for one in request.settings if dest_of(one.flag, flags) != dest_of(other.setting.flag, flags)]
    return replace(request, settings=(*kept, other.setting))


def nearest(alternatives: tuple[Alternative, ...]) -> tuple[Alternative, ...]:
    """The first feasible one of each kind of change; where none is, the first of which it is not known."""
    return _first_of_each(alternatives, FITS) or _first_of_each(alternatives, UNKNOWN)


def _first_of_each(alternatives: tuple[Alternative, ...], outcome: str) -> tuple[Alternative, ...]:
    found: dict[str, Alternative] = {}
    for one in alternatives:
        if one.outcome == outcome:
            first = one.flags.split(" ")[0]
            found.setdefault(first if first.startswith("--") or first == "without" else "--hosts", one)
    return tuple(found.values())
