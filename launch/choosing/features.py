"""Features that the operator switches on and off beside those that a recipe has by default. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.errors import BadInput
from inventory.nearest import did_you_mean
from launch.resolve.choice import default_features
from launch.resolve.features import why_not

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from launch.catalogue.recipe import Recipe
    from launch.resolve import Case

EXCLUSIVE = frozenset({"text_only", "encoder_parallel"})
"""One leaves the vision encoder out that the other divides (as the public catalogue has it)."""


@dataclass(frozen=True, slots=True)
class Features:
    """What is on, in the recipe's order, and which mode of it was picked. `notes`: what that switched off."""

    names: tuple[str, ...] = ()
    modes: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


NONE = Features()


def features_for(case: Case, on: Sequence[str], off: Sequence[str]) -> Features:
    """The features of `case` with `on` (`name`, or `name=mode`) and without `off`.

    Raises `BadInput` for one that there is not, that both sides name, that excludes another, or cannot act here.
    """
    recipe = case.recipe
    modes = {name: mode for name, equals, mode in (one.partition("=") for one in on) if equals}
    wanted = dict.fromkeys(one.partition("=")[0] for one in on)
    for flag, names in (("feature", wanted), ("no-feature", off)):
        for name in names:
            _refuse_unknown(recipe, flag, name)
    for name, mode in modes.items():
        _refuse_unknown_mode(recipe, name, mode)
    _refuse_contradiction(wanted, off)
    usual = [name for name in default_features(recipe, case.variant_key, case.hardware) if name not in off]
    dropped = [name for name in usual if name in EXCLUSIVE - wanted.keys() and wanted.keys() & EXCLUSIVE]
    names = tuple(name for name in recipe.features if name in wanted or (name in usual and name not in dropped))
    _refuse_idle(case, wanted, modes)
    notes = [f"without {name}: {next(iter(wanted.keys() & EXCLUSIVE))} excludes it" for name in dropped]
    return Features(names, modes, tuple(notes))


def _refuse_unknown(recipe: Recipe, flag: str, name: str) -> None:
    if name not in recipe.features:
        raise BadInput(
            f"the recipe has no feature {name}{did_you_mean(name, recipe.features)}",
            id="feature-unknown",
            observed=f"--{flag} {name}",
            required=f"out of {', '.join(recipe.features) or 'none: this recipe has no features'}",
            next_command=f"the same command {'with another' if recipe.features else 'without'} --{flag}",
        )


def _refuse_unknown_mode(recipe: Recipe, name: str, mode: str) -> None:
    modes = recipe.features[name].modes or {}
    if mode not in modes:
        raise BadInput(
            f"the feature {name} has no mode {mode}{did_you_mean(mode, modes)}",
            id="feature-unknown",
            observed=f"--feature {name}={mode}",
            required=f"one of {', '.join(modes)}" if modes else f"--feature {name}: it has no modes",
            next_command="the same command with another --feature",
        )


def _refuse_contradiction(wanted: Mapping[str, None], off: Sequence[str]) -> None:
    both = [name for name in wanted if name in off]
    if both or wanted.keys() >= EXCLUSIVE:
        raise BadInput(
            f"{' and '.join(both or sorted(EXCLUSIVE))} cannot be had so",
            id="feature-unsupported",
            observed="named by --feature and by --no-feature" if both else "both are asked for, and exclude each other",
            required="each feature on or off" if both else "one of them",
            next_command="the same command with one of the two",
        )


def _refuse_idle(case: Case, wanted: Mapping[str, None], modes: Mapping[str, str]) -> None:
    """Refuse what would be left out without a word: the operator asked for it by name."""
    for name in wanted:
        reason = why_not(case, name, modes.get(name))
        if reason is not None:
            raise BadInput(
                f"the feature {name} is not there for this choice",
                id="feature-unsupported",
                observed=reason,
                required="a feature that the recipe has on this hardware, with this variant and strategy",
                next_command=f"the same command without --feature {name}",
            )
