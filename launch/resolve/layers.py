"""The layers of arguments and environment, in the order in which the later wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.resolve import features
from launch.resolve.words import last_of_each, split_flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from launch.resolve.case import Case

SERVE = ("vllm", "serve")


def argv_of(case: Case, parallel: Sequence[str], role: str | None = None) -> tuple[str, ...]:
    """`vllm serve MODEL` and its options for one node; `parallel` is the node's own part."""
    variant, override = case.variant, case.override
    exact = variant.hardware_overrides.get(case.hardware)
    words = [*case.recipe.model.base_args, *variant.extra_args, *(exact.extra_args if exact else ())]
    words += [*_strategy_args(case, role), *parallel]
    if role is None:
        words += [*override.extra_args, *override.vllm_args]
    else:
        words += [*case.role(role).extra_args, *case.role(role).vllm_args]
    words += [word for block in case.blocks(role) for word in block.extra_args]
    words += [*case.advanced, *features.words(case), *_kv_args(case, role)]
    return (*SERVE, case.model_id, *last_of_each(split_flags(words)))


def env_of(case: Case, role: str | None = None, role_env: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of all nodes of a role; `role_env` is what a pool's place on its node adds."""
    variant, override, store = case.variant, case.override, case.kv_store
    exact = variant.hardware_overrides.get(case.hardware)
    env = {**case.recipe.model.base_env, **variant.extra_env, **(exact.extra_env if exact else {})}
    env |= _strategy_env(case, role)
    env |= case.kv_option.env if case.kv_option else {}
    if store is not None and (role is None or store.pd is not None):
        env |= store.vllm.env
    env |= role_env or {}
    env |= override.env
    env |= case.role(role).env if role else override.extra_env
    for block in case.blocks(role):
        env |= block.extra_env
    return env | features.env(case)


def _strategy_args(case: Case, role: str | None) -> Sequence[str]:
    if role is None:
        return case.strategy.vllm_args
    found = getattr(case.strategy, role)
    return found.vllm_args if found else ()


def _strategy_env(case: Case, role: str | None) -> dict[str, str]:
    if role is None:
        return case.strategy.env
    found = getattr(case.strategy, role)
    return found.env if found else {}


def _kv_args(case: Case, role: str | None) -> list[str]:
    words = list(case.kv_option.args) if case.kv_option else []
    store = case.kv_store
    if store is not None and role is None:
        words += store.vllm.vllm_args
    elif store is not None and store.pd is not None and role in store.pd:
        words += store.pd[role].args
    return words
