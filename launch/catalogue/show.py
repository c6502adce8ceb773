"""One recipe for an operator: what it says, and the commands of one choice for every node. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from launch.catalogue.cases import filled, least_of
from launch.catalogue.validate import version_for
from launch.choosing.choice import Choice
from launch.choosing.features import features_for
from launch.choosing.modes import Command, balanced, with_ray
from launch.choosing.offer import DEFAULT, refuse_unlaunchable, strategy_of, variant_for
from launch.request import Request, known
from launch.resolve import Case, resolve_case
from launch.resolve.choice import default_hardware
from launch.resolve.constraints import applies, unmet
from launch.resolve.gates import Place, effective_strategies, fits_node, least_nodes, supported
from launch.resolve.words import shell_line, shown
from launch.vllm_args import check, parse
from launch.vllm_args.translations import translate

if TYPE_CHECKING:
    from launch.catalogue.extra import Constraint, Source
    from launch.catalogue.find import Found
    from launch.resolve import Resolved
    from launch.vllm_args.translations import Translated


NOT_WITH_RAY = "Ray starts the ranks through a cluster of its own, which bringup neither starts nor stops: by hand only"


@dataclass(frozen=True, slots=True)
class Shown:
    """A recipe and one choice of it.

    `beside`: commands of a router, a store and helpers. `refused`: what the version, or the recipe itself, refuses.
    `not_launchable`: why a deploy would stop before all that. `proven`: whether the version is the recipe's own.
    """

    id: str
    file: str
    hardware: str
    nodes: int
    variant: str
    strategy: str
    model_id: str
    vllm: str
    proven: bool
    features: tuple[str, ...]
    commands: tuple[Command, ...]
    beside: tuple[str, ...]
    notes: tuple[str, ...]
    refused: tuple[str, ...]
    not_launchable: str
    constraints: tuple[Constraint, ...]
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """What of the recipe's usual form is wanted otherwise: features on and off, load balancing, Ray."""

    on: Sequence[str] = ()
    off: Sequence[str] = ()
    load_balancing: str | None = None
    ray: bool = False


USUAL = Other()


def show(
    found: Found,
    *,
    hardware: str,
    nodes: int,
    variant: str,
    strategy: str,
    other: Other = USUAL,
) -> Shown:
    """Resolve one choice; what is empty or 0 is chosen, and what is not said by `other` is the recipe's.

    Raises `BadInput` for names that there are not.
    """
    recipe = found.recipe
    hardware = hardware or default_hardware(Place(recipe, found.library, variant or DEFAULT, ""))
    known("hardware", hardware, found.library.profiles)
    variant = variant or variant_for(found, hardware)
    known("variant", variant, recipe.variants or {DEFAULT: None})
    place = Place(recipe, found.library, variant, hardware)
    nodes = nodes or nodes_for(place, strategy)
    strategy = strategy or strategy_of(place, nodes)
    known("strategy", strategy, found.library.strategies)
    version = version_for("", found)
    case = Case(recipe, found.library, variant, strategy, hardware, node_count=nodes)
    features = features_for(case, other.on, other.off)
    resolved = resolve_case(replace(case, features=features.names, modes=features.modes))
    said = [(one, translate(one.argv, one.env, version)) for one in resolved.processes]
    commands = tuple(Command(one.role, one.rank, words.env, words.argv) for one, words in said)
    if other.ray or other.load_balancing:
        choice = Choice(found, hardware, variant, strategy, version, resolved.model_id)
        commands = tuple(_otherwise(choice, [words for _, words in said], other, nodes, case.gpus))
    notes = [
        *features.notes,
        *(note for _, words in said for note in words.notes),
        *(defect.what for defect in resolved.defects),
    ]
    return Shown(
        id=found.id,
        file=str(found.path),
        hardware=hardware,
        nodes=nodes,
        variant=variant,
        strategy=strategy,
        model_id=resolved.model_id,
        vllm=version,
        proven=recipe.bringup.vllm_version is not None,
        features=features.names,
        commands=commands,
        beside=tuple(_beside(resolved)),
        notes=tuple(dict.fromkeys(notes)),
        refused=tuple(dict.fromkeys(_refused(place, strategy, commands, version))),
        not_launchable="\n  ".join(filter(None, [NOT_WITH_RAY * other.ray, _not_launchable(found, place, strategy)])),
        constraints=tuple(one for one in recipe.bringup.constraints if applies(one, place, strategy)),
        sources=recipe.bringup.sources,
    )


def _otherwise(choice: Choice, said: Sequence[Translated], other: Other, nodes: int, gpus: int) -> Iterator[Command]:
    if other.ray:
        return with_ray(choice, said, nodes, gpus)
    return balanced(choice, said, Request(choice.found.id, load_balancing=other.load_balancing), nodes)


def _beside(resolved: Resolved) -> Iterator[str]:
    if resolved.router is not None:
        yield shell_line(resolved.router.argv)
    if resolved.store is not None and resolved.store.master:
        yield resolved.store.master
    yield from (helper.command for helper in resolved.helpers)


def nodes_for(place: Place, strategy: str) -> int:
    """The least number of nodes that hold the weights and that the strategy needs."""
    multi = [name for name in effective_strategies(place.recipe) if _is(place, name, "multi_node")]
    if strategy:
        return least_of(place, strategy)
    alone = any(_is(place, one, "single_node") and least_nodes(place, one) == 1 for one in _all(place))
    return 1 if (alone and fits_node(place)) or not multi else min(least_of(place, one) for one in multi)


def _all(place: Place) -> Sequence[str]:
    return effective_strategies(place.recipe)


def _is(place: Place, name: str, deploy_type: str) -> bool:
    return place.library.strategy(name).deploy_type == deploy_type and supported(place, name)


def _refused(place: Place, strategy: str, commands: Sequence[Command], version: str) -> Iterator[str]:
    for one in commands:
        if one.argv[0] != "vllm":
            continue
        argv = filled(one.argv)
        yield from (str(refusal) for refusal in check(argv, one.env, version) if not refusal.warns)
        for miss in unmet(place, strategy, parse(argv, version)):
            yield str(miss)


def _not_launchable(found: Found, place: Place, strategy: str) -> str:
    try:
        refuse_unlaunchable(found, place, strategy)
    except BringupError as error:
        return str(error)
    return ""


def lines(one: Shown, found: Found) -> Iterator[str]:
    """All of it as text."""
    yield f"{one.id}, {one.variant}: {one.model_id}"
    yield f"{one.strategy} on {one.nodes} x {one.hardware}, vLLM {one.vllm}" + (
        "" if one.proven else " (not the recipe's own: it names none, so this proves nothing)"
    )
    yield f"features: {', '.join(one.features) or 'none'}"
    yield from _variants(found)
    for command in one.commands:
        yield f"\n# {command.role} {command.rank}"
        yield from (f"{key}={value}" for key, value in sorted(command.env.items()))
        yield shown(command.argv, 2 if command.argv[0] == "vllm" else 1)
    yield from _block("beside them", one.beside)
    yield from _block("refused", one.refused)
    yield from _block("a deploy refuses it", [one.not_launchable] if one.not_launchable else [])
    yield from _block("notes", one.notes)
    yield from _block("constraints", [f"{needs_of(rule)}: {rule.why} ({rule.source})" for rule in one.constraints])
    yield from _block("sources", [text for source in one.sources for text in _of_source(source)])


def _variants(found: Found) -> Iterator[str]:
    yield from _block(
        "variants",
        [
            f"{key}: {found.recipe.model_id(key)}, {one.precision or '?'}, {one.vram_minimum_gb or '?'} GB to load"
            for key, one in found.recipe.variants.items()
        ],
    )


def _block(title: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        yield f"\n{title}:"
        yield from (f"  {text}" for text in texts)


def needs_of(rule: Constraint) -> str:
    parts = [f"{flag} at most {value}" for flag, value in rule.at_most.items()]
    parts += [f"{flag} at least {value}" for flag, value in rule.at_least.items()]
    parts += [*rule.needs, *([f"vLLM {rule.vllm} exactly"] if rule.vllm else [])]
    return ", ".join([*parts, *(["image only"] if rule.image_only else [])])


def _of_source(source: Source) -> Iterator[str]:
    yield f"{source.what}: {source.value} ({source.source})"
    yield from (f"  else: {other}" for other in source.others)
