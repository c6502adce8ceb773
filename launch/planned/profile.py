"""What `--profile` changes: settings of the frontier deployment handbook, section 7, within the recipe's limits. Pure.

A limit is what the recipe says for this very hardware, variant or strategy, or in a constraint, with the model's own
length of context. What the recipe says for every hardware is a default, and a profile is more exact than that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from launch.choosing.hardware import CPU
from launch.choosing.reasons import Reason
from launch.request import known
from launch.resolve.constraints import applies, value_of
from launch.vllm_args.parse import load, parse

if TYPE_CHECKING:
    from launch.choosing.choice import Choice
    from launch.resolve.case import Case
    from launch.vllm_args.parse import Parsed

SECTION_7 = "frontier deployment handbook, section 7"
UNQUANTISED_CACHE = (None, "auto", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a profile has to keep to. `typed`: options that the operator set, by dest. `said`: the recipe's command."""

    choice: Choice
    said: Parsed
    typed: Mapping[str, str]

    @property
    def general(self) -> Parsed:
        """What the recipe says for every hardware, variant and strategy."""
        return parse(["model", *self.choice.found.recipe.model.base_args], self.choice.vllm)

    def is_special(self, dest: str) -> bool:
        """Whether the recipe says this for the very hardware, variant or strategy."""
        return dest in self.said.values and self.said.values[dest] != self.general.values.get(dest)

    def bounds(self, flag: str) -> tuple[float | None, float | None, str]:
        """The least and the most that the recipe's constraints leave, and why."""
        least, most, why = None, None, ""
        for one in self.choice.found.recipe.bringup.constraints:
            if applies(one, self.choice.place, self.choice.strategy) and flag in {**one.at_least, **one.at_most}:
                least, most = one.at_least.get(flag, least), one.at_most.get(flag, most)
                why = f"{one.why} ({one.source})"
        return least, most, why


Value: TypeAlias = str | None
Kept: TypeAlias = tuple[Value, str]
"""A value for the option (None: none, the option stays as it is), and why it is not the profile's."""


@dataclass(frozen=True, slots=True)
class ProfileSetting:
    """`value` None: a switch. `keep` decides what of it holds here, beside the limits that all have."""

    flag: str
    value: str | None
    why: str
    keep: Callable[[Limits, str], Kept] | None = None


def _context(limits: Limits, wanted: str) -> Kept:
    """As long as the model's own context at most; a recipe that says as much already stays."""
    own = limits.choice.found.recipe.model.context_length
    if not isinstance(own, int):
        return None, "the recipe does not tell the model's length of context"
    value, said = min(int(wanted), own), value_of(limits.said, "--max-model-len")
    if said is not None and (said < 0 or said >= value):
        return None, f"the recipe's {_text(said)} is as long already"
    return str(value), "" if value == int(wanted) else f"the model's context ends at {own}"


def _cache_dtype(limits: Limits, _: str) -> Kept:
    said = limits.said.get("kv_cache_dtype")
    if said not in UNQUANTISED_CACHE:
        return None, f"the recipe's {said} is as small already"
    if limits.choice.place.profile.kind in {"cpu", "ampere"}:
        return None, f"no FP8 arithmetic on {limits.choice.hardware}"
    return "fp8", ""


def _block(limits: Limits, wanted: str) -> Kept:
    said = limits.said.values.get("block_size")
    return (wanted, "") if said is None else (None, f"the recipe's kernels are made for {said}")


def _utilisation(limits: Limits, wanted: str) -> Kept:
    if limits.choice.hardware in {CPU, "dgx_spark_gb10"}:
        return None, f"memory of {limits.choice.hardware} is the host's too"
    return wanted, ""


def _one_token(limits: Limits, _: str) -> Kept:
    said: Any = limits.said.values.get("speculative_config")
    if not isinstance(said, dict):
        return None, "the recipe drafts no tokens here"
    method = str(said.get("method", ""))
    if not method.endswith("mtp"):
        return None, f"the recipe drafts by {method or 'another method'}, whose number of tokens it has from training"
    return json.dumps({**said, "num_speculative_tokens": 1}, separators=(",", ":")), ""


MAX_SEQS, MAX_TOKENS, SPECULATE = "--max-num-seqs", "--max-num-batched-tokens", "--speculative-config"
_PREFIX = ProfileSetting("--enable-prefix-caching", None, "prefixes that come again are not computed again")
PROFILES: Mapping[str, tuple[ProfileSetting, ...]] = {
    "latency": (
        ProfileSetting(MAX_TOKENS, "2048", "a small budget for a step, so that long prompts do not hold decoding up"),
        ProfileSetting(MAX_SEQS, "8", "a small batch has short steps"),
        ProfileSetting(SPECULATE, "", "one drafted token is accepted most often", _one_token),
    ),
    "throughput": (
        ProfileSetting(MAX_TOKENS, "16384", "a large budget fills prefills"),
        ProfileSetting(MAX_SEQS, "512", "a large batch reads the weights once for many"),
        ProfileSetting("--gpu-memory-utilization", "0.95", "no memory is left unused", _utilisation),
    ),
    "long-context": (
        ProfileSetting("--max-model-len", "1000000", "a million tokens", _context),
        ProfileSetting("--kv-cache-dtype", "fp8", "half the bytes a token", _cache_dtype),
        _PREFIX,
        ProfileSetting("--block-size", "64", "small blocks match more of a prefix", _block),
    ),
    "agent": (_PREFIX,),
    "mixed": (
        ProfileSetting("--scheduling-policy", "priority", "interactive requests go before those of batches"),
        ProfileSetting("--async-scheduling", None, "the next step is scheduled while the GPUs work on this one"),
    ),
}
FEATURES: Mapping[str, Mapping[str, str]] = {
    "latency": {"spec_decoding": "drafted tokens shorten the answer of a single user"},
    "agent": {"decode_context_parallel": "the cache of long sessions is cut over the GPUs instead of copied"},
}
"""Features of recipes that a profile switches on, where the recipe has them for this choice."""


def profile_named(value: str) -> str | None:
    """The profile of the flag; None when it is not given. Raises `BadInput`."""
    if value:
        known("profile", value, PROFILES)
    return value or None


def profile_features(profile: str | None, case: Case, off: Sequence[str], on: Sequence[str]) -> tuple[str, ...]:
    """The features that `profile` adds to those that were asked for (`on`)."""
    from launch.resolve.features import why_not

    asked = {one.partition("=")[0] for one in on}
    wanted = FEATURES.get(profile or "", {})
    there = (name for name in wanted if name in case.recipe.features and name not in {*off, *asked})
    return tuple(name for name in there if why_not(case, name, None) is None)


def profile_words(profile: str, limits: Limits) -> tuple[list[str], list[Reason]]:
    """The words that the profile puts over the recipe's, and a reason for each of its settings."""
    words: list[str] = []
    reasons: list[Reason] = []
    for one in PROFILES[profile]:
        value, applied, reason = _judged(profile, one, limits)
        words += [] if not applied else [one.flag] if value is None else [one.flag, value]
        reasons.append(reason)
    return words, [*reasons, *_features(profile, limits)]


def _judged(profile: str, one: ProfileSetting, limits: Limits) -> tuple[Value, bool, Reason]:
    dest = str(load(limits.choice.vllm)["flags"][one.flag])
    about = f"{one.flag} by --profile {profile}"
    if dest in limits.typed:
        return None, False, Reason(about, "left alone", f"{limits.typed[dest]} was typed", source=limits.typed[dest])
    if one.value is None:
        if limits.is_special(dest):
            return None, False, Reason(about, "left alone", "the recipe says it for this choice", source="recipe")
        return None, True, Reason(about, "on", one.why, source=SECTION_7)
    value, why = _kept(one, limits, dest)
    if value is None:
        return None, False, Reason(about, "left alone", why, (("of the profile", one.value or "1 token"),), "recipe")
    numbers = (("of the profile", one.value),) if why else ()
    return value, True, Reason(about, value, why or one.why, numbers, SECTION_7)


def _kept(one: ProfileSetting, limits: Limits, dest: str) -> Kept:
    value, why = one.keep(limits, one.value or "") if one.keep else (one.value, "")
    if value is None or one.flag == SPECULATE:
        return value, why
    if limits.is_special(dest):
        said = limits.said.values[dest]
        return None, f"the recipe says {said} for this hardware, variant or strategy"
    return _bounded(one.flag, value, why, limits)


def _bounded(flag: str, value: str, why: str, limits: Limits) -> Kept:
    least, most, reason = limits.bounds(flag)
    if not _is_number(value):
        return value, why
    number = float(value)
    if most is not None and number > most:
        return _text(most), reason
    return (_text(least), reason) if least is not None and number < least else (value, why)


def _text(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _features(profile: str, limits: Limits) -> Iterator[Reason]:
    """What the profile wants that is a feature of recipes, or that nobody has a number for."""
    recipe = limits.choice.found.recipe
    for name, why in FEATURES.get(profile, {}).items():
        on = name in limits.choice.features.names
        rule = why if on else "the recipe has it not for this choice, or --no-feature"
        if not on and name in recipe.features:
            rule = "--no-feature, or the recipe has it not for this hardware, variant and strategy"
        yield Reason(f"{name} by --profile {profile}", "on" if on else "left alone", rule, source=SECTION_7)
    if profile == "agent" and "kv_offloading_size" not in limits.typed:
        rule = "how much of the host's memory the cache may have is said nowhere: --set kv-offloading-size=GIB"
        yield Reason("KV cache in host memory by --profile agent", "left alone", rule, source=SECTION_7)
