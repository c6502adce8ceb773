"""Features and their modes: what switching one on adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.resolve.lookup import keyed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launch.catalogue.recipe import Feature, FeatureBlock, Mode
    from launch.resolve.case import Case


@dataclass(frozen=True, slots=True)
class Helper:
    """A process that runs beside the server, and what asks for it."""

    source: str
    label: str
    description: str
    command: str


def active(case: Case) -> Iterator[tuple[str, Feature]]:
    """The enabled features that may act with this strategy, in the caller's order."""
    for name in case.features:
        feature = case.recipe.features.get(name)
        if feature is None or (feature.strategies and case.strategy_name not in feature.strategies):
            continue
        if not _supported(case, feature):
            continue
        if case.instance_store is None or feature.companion is None:
            yield name, feature


def words(case: Case) -> Iterator[str]:
    for name, feature in active(case):
        source = _source(case, name, feature)
        if source is not None:
            block = _block(case, source)
            yield from source.args if block is None or block.args is None else block.args


def env(case: Case) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, feature in active(case):
        source = _source(case, name, feature)
        if source is not None:
            block = _block(case, source)
            found |= source.env if block is None or block.env is None else block.env
    return found


def helpers(case: Case) -> Iterator[Helper]:
    for name, feature in active(case):
        if feature.companion is not None:
            one = feature.companion
            yield Helper(name, one.label or name, one.description, one.command.strip())


def mode_of(case: Case, name: str, feature: Feature) -> str | None:
    """The one mode that acts: the operator's, the variant's, the feature's default, the first; None if none may."""
    modes = feature.modes or {}
    candidates = [key for key, mode in modes.items() if _may_act(case, mode)]
    wanted = (case.modes.get(name), case.variant.default_modes.get(name), feature.default_mode)
    return next((key for key in wanted if key in candidates), next(iter(candidates), None))


def why_not(case: Case, name: str, mode: str | None) -> str | None:
    """Why an enabled feature, or the `mode` picked of it, adds nothing here; None when it acts."""
    feature = case.recipe.features[name]
    if feature.strategies and case.strategy_name not in feature.strategies:
        return f"{case.strategy_name}; the recipe has it with {', '.join(feature.strategies)}"
    if not _supported(case, feature):
        return f"{case.hardware}; the recipe says unsupported there"
    acting = mode_of(case, name, feature)
    if feature.modes is not None and (acting is None or acting != (mode or acting)):
        return f"variant {case.variant_key} on {case.hardware}; " + (
            f"the recipe has mode {acting} of it there" if acting else "the recipe has no mode of it there"
        )
    return None


def _may_act(case: Case, mode: Mode) -> bool:
    return (not mode.variants or case.variant_key in mode.variants) and _supported(case, mode)


def _supported(case: Case, source: Feature | Mode) -> bool:
    """Whether the recipe does not rule it out here; the public builder asks that of modes only, not of features."""
    return "unsupported" not in (source.hardware.get(case.profile.kind), source.hardware.get(case.hardware))


def _source(case: Case, name: str, feature: Feature) -> Feature | Mode | None:
    if feature.modes is None:
        return feature
    key = mode_of(case, name, feature)
    return feature.modes[key] if key is not None else None


def _block(case: Case, source: Feature | Mode) -> FeatureBlock | None:
    return keyed(source.hardware_overrides, case.hardware, case.profile)
