"""What of a recipe may be launched on a hardware: variant, strategy, and why not. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inventory.errors import BadInput, BringupError, CheckFailed, raise_all
from inventory.facts.cpulist import format_list
from launch.resolve.case import PD
from launch.resolve.choice import strategy_for
from launch.resolve.gates import (
    MOST_NODES,
    Place,
    constraint_of,
    effective_strategies,
    fits_node,
    floor,
    least_nodes,
    offered,
    supported,
)
from playbooks.environments import environment_names, load_environment

if TYPE_CHECKING:
    from launch.catalogue.find import Found
    from launch.catalogue.recipe import Recipe

DEFAULT = "default"
UNKNOWN_MODEL = "unknown"  # what a recipe resolves to that does not name its checkpoint


def variant_for(found: Found, hardware: str) -> str:
    """The default variant, or where the hardware does not run it the first that it runs."""
    places = [Place(found.recipe, found.library, key, hardware) for key in (DEFAULT, *found.recipe.variants)]
    return next((one.variant_key for one in places if offered(one)), DEFAULT)


def strategy_of(place: Place, hosts: int) -> str:
    """The recipe's choice among its layouts for this number of hosts.

    A rank that spans hosts waits for the network at every layer: only where no whole replica fits a host, or no other
    layout is there. Raises `BadInput` when the recipe has none.
    """
    among = [name for name in effective_strategies(place.recipe) if _is_for(place, name, hosts)]
    whole = [name for name in among if place.library.strategy(name).parallel_flag == "--data-parallel-size"]
    if hosts > 1 and whole and fits_node(place):
        among = whole
    if not among:
        able = _numbers(place)
        more = next((count - hosts for count in able if count > hosts), None)
        raise BadInput(
            f"the recipe has no layout for {hosts} host(s) of {place.hardware}",
            id="strategy-none",
            observed="; ".join(_why_no_layout(place, name, hosts) for name in effective_strategies(place.recipe)),
            required=f"a number of hosts that has a layout here: {format_list(tuple(able)) or 'none'}",
            next_command=f"the same command with {more} more host(s) in --hosts, or with --nodes {hosts + more}"
            if more
            else "the same command with another number of --hosts, or other hardware",
        )
    return strategy_for(place, hosts, among)


def _numbers(place: Place) -> list[int]:
    """The numbers of nodes for which the recipe has layouts on this hardware."""
    listed = effective_strategies(place.recipe)
    return [count for count in range(1, MOST_NODES + 1) if any(_is_for(place, name, count) for name in listed)]


def _why_no_layout(place: Place, name: str, hosts: int) -> str:
    if (place.library.strategy(name).deploy_type == "multi_node") != (hosts > 1):
        return f"{name} is for {'one host' if hosts > 1 else 'several hosts'}"
    if not supported(place, name):
        return f"the recipe does not have {name} on {place.hardware}"
    needed, there = floor(place, name), place.profile.gpus * hosts
    return f"{name} needs {needed} GPUs (strategy_min_gpus), {needed - there} more than {there}"


def _is_for(place: Place, name: str, hosts: int) -> bool:
    wanted = "multi_node" if hosts > 1 else "single_node"
    enough = least_nodes(place, name) <= hosts
    return place.library.strategy(name).deploy_type == wanted and supported(place, name) and enough


def refuse_unlaunchable(found: Found, place: Place, strategy: str) -> None:
    """Raise everything that forbids this choice whatever its command line is."""
    raise_all([*impossible(found, place, strategy), *unlaunchable(found, place)])


def impossible(
    found: Found, place: Place, strategy: str, *, typed: bool = False, named: bool = False
) -> list[BringupError]:
    """What leaves nothing to plan. `typed`: the operator named the variant, and what contradicts it is bad input.

    `named`: the operator named the hardware.
    """
    errors: list[BringupError] = []
    if not offered(place):
        errors.append(_not_here(found, place, typed=typed, named=named))
    if place.recipe.model_id(place.variant_key) == UNKNOWN_MODEL:
        errors.append(
            BadInput(
                f"the recipe does not name the checkpoint of {found.id}",
                id="checkpoint-unknown",
                observed="no model_id in the recipe: no source of it names one",
                required="the repository of the weights",
                next_command=f"set model.model_id in {found.path}",
            )
        )
    if place.library.strategy(strategy).deploy_type == PD:
        errors.append(_needs_router(strategy))
    return errors


def unlaunchable(found: Found, place: Place) -> list[BringupError]:
    """What bringup does not launch itself, and people may."""
    errors: list[BringupError] = []
    if missing := _missing_plugins(place.recipe):
        errors.append(_needs_plugins(found, missing))
    return errors


def _not_here(found: Found, place: Place, *, typed: bool, named: bool) -> BringupError:
    kind = BadInput if typed else CheckFailed
    asked = f"--variant {place.variant_key} (typed), and " if typed else ""
    there = "(--hardware)" if named else "(the names of their GPUs)"
    return kind(
        f"{found.id} does not run on {place.hardware}",
        id="recipe.hardware",
        observed=f"{asked}hosts are {place.hardware} {there}; {why_not_here(place)} (the recipe)",
        required=f"one of {', '.join(_able(place)) or 'the hardware of the recipe'}",
        next_command="invoke recipes.list",
    )


def why_not_here(place: Place) -> str:
    """Why the variant is not offered on this hardware."""
    says = place.recipe.meta.hardware.get(place.hardware)
    if says == "unsupported":
        return "the recipe says unsupported"
    if place.variant.supported_hardware and place.hardware not in place.variant.supported_hardware:
        return f"the variant {place.variant_key} is for {', '.join(place.variant.supported_hardware)}"
    wanted = [one for one in constraint_of(place.variant) if one]
    if wanted and place.hardware != "cpu":
        return f"the variant {place.variant_key} is in {place.variant.precision}, for {' '.join(wanted)}"
    return "the recipe does not name it"


def _able(place: Place) -> list[str]:
    """Hardware that runs the variant, out of what the recipe or the variant names."""
    named = {*place.recipe.meta.hardware, *place.variant.supported_hardware}
    return sorted(one for one in named if offered(replace(place, hardware=one)))


def _needs_router(strategy: str) -> BadInput:
    return BadInput(
        f"{strategy} is not launched",
        id="strategy-unsupported",
        observed="prefill and decode pools, with a router in front of them",
        required="one gang: a single_node or multi_node strategy",
        next_command="the same command without --strategy",
    )


def _missing_plugins(recipe: Recipe) -> list[str]:
    """Plugins of the recipe that its environment does not bring along."""
    ours = recipe.bringup
    if not ours.plugins or f"{ours.distribution}-{ours.vllm_version}" not in environment_names():
        return list(ours.plugins)
    added = load_environment(ours.distribution, str(ours.vllm_version)).added
    return [name for name in ours.plugins if f"{name}.py" not in added]


def _needs_plugins(found: Found, missing: list[str]) -> CheckFailed:
    return CheckFailed(
        f"{found.id} needs a plugin that bringup does not install",
        id="plugin-missing",
        observed=f"bringup.plugins: {', '.join(missing)}",
        required="a recipe without plugins: an environment is made of locked wheels only, and these have no lock",
        next_command="invoke recipes.show --model " + found.id.rpartition("/")[2].lower(),
    )
