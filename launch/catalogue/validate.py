"""Whether a pinned vLLM would take every command that the recipes of a checkout can become. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from inventory.errors import BadInput, BringupError
from launch.catalogue.cases import Offer, filled, offers
from launch.resolve.constraints import unmet
from launch.resolve.gates import Place
from launch.vllm_args import UnknownVersion, check, parse
from launch.vllm_args.parse import HERE, load
from launch.vllm_args.translations import rules

if TYPE_CHECKING:
    from launch.catalogue.find import Catalogue, Found
    from launch.vllm_args import Refusal

Wrong: TypeAlias = tuple[str, str, str, bool]
"""What is wrong, why, what instead, and whether vLLM starts all the same."""

OMNI = "omni"
SERVE = ("vllm", "serve")


@dataclass(slots=True)
class Fault:
    """One thing that is wrong in some commands of a recipe, and where. `only_warns`: vLLM starts all the same."""

    what: str
    why: str
    instead: str
    only_warns: bool
    commands: int = 0
    variants: set[str] = field(default_factory=set)
    strategies: set[str] = field(default_factory=set)
    hardware: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    also: set[str] = field(default_factory=set)
    """Features, modes, pools or offload beside the default ones, where it needs them."""

    def at(self, offer: Offer, extra: str) -> None:
        self.commands += 1
        self.variants.add(offer.variant)
        self.strategies.add(offer.strategy)
        self.hardware.add(offer.hardware)
        self.nodes.add(offer.nodes)
        self.also.add(extra)


@dataclass(frozen=True, slots=True)
class Judged:
    """One recipe. `unreadable`: what is wrong with its file. `skipped`: why it was not looked at."""

    recipe: str
    vllm: str
    commands: int = 0
    refused: int = 0
    faults: tuple[Fault, ...] = ()
    unreadable: str = ""
    skipped: str = ""


def version_for(asked: str, found: Found | None = None) -> str:
    """The version asked for, else the recipe's, else the newest. Raises `BadInput` for one without an option schema."""
    known = sorted((path.stem for path in HERE.glob("*.json")), key=lambda one: [int(n) for n in one.split(".")])
    version = asked or (found.recipe.bringup.vllm_version if found else None) or known[-1]
    try:
        load(version)
    except UnknownVersion as error:
        raise BadInput(
            f"no option schema of vLLM {version} is here",
            id="vllm-version",
            observed=f"--vllm {version}",
            required=f"one of {', '.join(known)}",
            next_command=f"the same command with --vllm {known[-1]}",
        ) from error
    return version


def validate(catalogue: Catalogue, version: str, told: Callable[[int, int], None]) -> Iterator[Judged]:
    """Judge every recipe in turn. `told`: called with how many are done, of how many."""
    ids = list(catalogue.ids())
    for done, id_ in enumerate(ids):
        told(done, len(ids))
        yield _judged(catalogue, id_, version)


def every_tenth(say: Callable[[str], None]) -> Callable[[int, int], None]:
    """Progress for `validate`: a line for every ten recipes."""

    def told(done: int, of: int) -> None:
        if done and done % 10 == 0:
            say(f"{done} of {of} recipes")

    return told


def _judged(catalogue: Catalogue, id_: str, asked: str) -> Judged:
    try:
        found = catalogue.find(id_)
    except BringupError as error:
        return Judged(id_, asked, unreadable=str(error))
    version = version_for(asked, found)
    if OMNI in found.recipe.meta.tasks:
        return Judged(id_, version, skipped="needs vllm-omni, whose options are not those of vLLM")
    return _of_commands(found, version)


def _of_commands(found: Found, version: str) -> Judged:
    faults: dict[tuple[str, str], Fault] = {}
    refused: dict[tuple[object, ...], bool] = {}
    known: dict[tuple[object, ...], list[Wrong]] = {}  # the same command comes of several choices
    for offer in offers(found):
        for one in offer.resolve(found).processes:
            argv, env = filled(one.argv), tuple(one.env.items())
            if argv[:2] != SERVE or (offer.variant, offer.hardware, argv, env) in refused:
                continue
            key = (argv, env, *((offer.strategy, offer.hardware) if found.recipe.bringup.constraints else ()))
            if key not in known:
                known[key] = list(wrong_in(found, offer, argv, one.env, version))
            for what, why, instead, warns in known[key]:
                fault = faults.setdefault((what, why), Fault(what, why, instead, warns))
                fault.at(offer, beside(found, offer))
            refused[offer.variant, offer.hardware, argv, env] = not all(warns for *_, warns in known[key])
    ordered = sorted(faults.values(), key=lambda one: (one.only_warns, -one.commands))
    _keep_only_what_is_needed(ordered)
    return Judged(found.id, version, len(refused), sum(refused.values()), tuple(ordered))


def wrong_in(
    found: Found, offer: Offer, argv: tuple[str, ...], env: Mapping[str, str], version: str
) -> Iterator[Wrong]:
    """What the version refuses of one command, and which constraints of its recipe it does not meet."""
    for refusal in check(argv, env, version):
        yield refusal.token, refusal.reason, translation(refusal, version), refusal.warns
    if found.recipe.bringup.constraints:
        place = Place(found.recipe, found.library, offer.variant, offer.hardware)
        for miss in unmet(place, offer.strategy, parse(argv, version)):
            yield miss.observed, f"{miss.why} ({miss.source})", miss.required, False


def translation(refusal: Refusal, version: str) -> str:
    """What a deploy writes instead, if there is a rule for it; else the nearest valid form."""
    flag, _, value = refusal.token.partition(" ")
    for rule in rules(version):
        name, key, wanted = rule.form
        whole = f"{name}.{key}" if key else name
        if flag.replace("_", "-") == whole.replace("_", "-") and wanted in {None, value or wanted}:
            return f"{rule.to or 'left out'}, by a deploy itself"
    return refusal.nearest


def beside(found: Found, offer: Offer) -> str:
    """What of an offer is not the default, in words."""
    off = {*found.recipe.opt_in_features, *found.recipe.hardware_opt_in_features.get(offer.hardware, ())}
    parts = [name for name in offer.features if name in off]
    parts += [f"{name}={mode}" for name, mode in offer.modes.items()]
    parts += [f"{role} pool {pool.parallelism}" for role, pool in offer.pools.items()]
    return ", ".join([*parts, *([offer.kv] if offer.kv else [])])


def _keep_only_what_is_needed(faults: Iterable[Fault]) -> None:
    """Where a fault is there with the default features too, the others are not its cause."""
    for fault in faults:
        if "" in fault.also:
            fault.also.clear()


def lines(judged: Judged) -> Iterator[str]:
    """One recipe for an operator; nothing when it is fine."""
    if judged.unreadable:
        yield f"{judged.recipe}: cannot be read\n    {judged.unreadable}"
    if judged.faults:
        yield f"{judged.recipe}: {judged.refused} of {judged.commands} commands refused"
    for fault in judged.faults:
        kind = "not read" if fault.only_warns else "refused"
        yield f"    {kind}: {fault.what}: {shortened(fault.why)}"
        yield f"        in {where(fault)}"
        if fault.instead:
            yield f"        instead: {fault.instead}"


def shortened(text: str, most: int = 200) -> str:
    return text if len(text) <= most else text[: most - 4] + " ..."


def where(fault: Fault) -> str:
    parts = [f"{fault.commands} command(s)", *map(", ".join, map(sorted, (fault.variants, fault.strategies)))]
    parts += [", ".join(sorted(fault.hardware)), "nodes " + ", ".join(map(str, sorted(fault.nodes)))]
    return "; ".join([*parts, *([f"with {' | '.join(sorted(fault.also))}"] if fault.also else [])])


def is_refused(judged: Judged) -> bool:
    return bool(judged.unreadable or judged.refused)


def summary(all_judged: Iterable[Judged], version: str) -> str:
    listed = list(all_judged)
    refused = [one for one in listed if is_refused(one)]
    unread = [one for one in listed if any(fault.only_warns for fault in one.faults)]
    against = f"vLLM {version}" if version else "each recipe's own vLLM"
    return (
        f"{len(listed)} recipes, {sum(one.commands for one in listed)} commands against {against}: "
        f"{sum(one.refused for one in listed)} commands of {len(refused)} recipes refused, "
        f"{len(unread)} recipes set variables that it does not read, "
        f"{sum(bool(one.skipped) for one in listed)} not looked at (vllm-omni)"
    )
