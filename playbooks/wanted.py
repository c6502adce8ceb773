"""From playbooks and a situation to the steps of one host, and what was left out of them with the reason. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from pydantic import ValidationError

from inventory.errors import BadInput, BringupError, CheckFailed, raise_all
from inventory.facts.base import Unknown
from playbooks.entry import At, Entry
from playbooks.plan import Phase, Step
from playbooks.repositories.source import Source
from playbooks.schema import Playbook
from playbooks.situation import NOT_PLANNED, Situation
from playbooks.steps.repository import Repository
from playbooks.values import ValueUnknown, filled, given, named
from playbooks.when import is_given


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry that was not planned although it may count here."""

    step: str
    reason: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """`steps` in the order of phases."""

    steps: tuple[Step, ...]
    left_out: tuple[LeftOut, ...]


def settings_of(playbooks: Sequence[Playbook], typed: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The settings of each playbook: what was typed, else its defaults. Raises `BadInput` for what none of them has."""
    known = {name: setting for one in playbooks for name, setting in one.settings.items()}
    raise_all([_unknown_setting(name, known) for name in typed if name not in known])
    raise_all(
        [_unfit(name, text, known[name].values) for name, text in typed.items() if not _fits(text, known[name].values)]
    )
    return {
        one.name: {
            name: typed.get(name, setting.default or "")
            for name, setting in one.settings.items()
            if name in typed or setting.default is not None
        }
        for one in playbooks
    }


def early_steps(
    playbooks: Iterable[Playbook],
    settings: Mapping[str, Mapping[str, str]],
    state_dir: str,
    sources: Mapping[str, Source] = MappingProxyType({}),
) -> tuple[Step, ...]:
    """The steps that no fact changes, in the order of phases: a host can be asked for them together with its facts."""
    steps = (
        entry.step(At(playbook=one.name, state_dir=state_dir, sources=sources))
        for one in playbooks
        for entry in (_given(entry, settings[one.name]) for entry in one.entries)
        if not named(entry) and _has_its_settings(entry, settings[one.name])
    )
    return _in_order(steps)


def asks_facts(playbooks: Iterable[Playbook], settings: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether anything but settings decides what is wanted; if not, the early steps are all."""
    return any(
        entry.when.asks - {"given"} or named(entry) - settings[one.name].keys()
        for one in playbooks
        for entry in one.entries
        if _has_its_settings(entry, settings[one.name])
    )


def mirrors_of(playbooks: Iterable[Playbook], settings: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """Names of the mirrors that entries would install from."""
    return frozenset(
        entry.mirror
        for one in playbooks
        for entry in one.entries
        if isinstance(entry, Repository) and _has_its_settings(entry, settings[one.name])
    )


def _has_its_settings(entry: Entry, settings: Mapping[str, str]) -> bool:
    return all(is_given(word, settings) for word in entry.when.given)


def _in_order(steps: Iterable[Step]) -> tuple[Step, ...]:
    order = list(Phase)
    return tuple(sorted(steps, key=lambda step: order.index(step.phase)))


def wanted_on(playbooks: Iterable[Playbook], at: Mapping[str, Situation]) -> Wanted:
    """All steps that count in the situation `at` of each playbook. Raises `CheckFailed` for what cannot be decided."""
    steps: list[Step] = []
    left_out: list[LeftOut] = []
    errors: list[BringupError] = []
    for one in playbooks:
        for entry in one.entries:
            try:
                step = _step(one.name, entry, at[one.name])
            except BringupError as error:
                errors.append(error)
                continue
            if isinstance(step, LeftOut):
                left_out.append(step)
            elif step:
                steps.append(step)
    raise_all(errors)
    return Wanted(_in_order(steps), tuple(left_out))


def _step(playbook: str, entry: Entry, at: Situation) -> Step | LeftOut | None:
    where = At(playbook=playbook, state_dir=at.state_dir, sources=at.sources)
    name = where.name(entry.id)
    holds = entry.when.holds(at)
    if isinstance(holds, Unknown):
        if holds == NOT_PLANNED:
            return LeftOut(name, holds.detail)
        raise _undecided(name, at, "whether it counts here", str(holds))
    if not holds:
        return None
    try:
        return filled(entry, at).step(where)
    except ValueUnknown as error:
        if error.reason == NOT_PLANNED:
            return LeftOut(name, f"{error.name}: {error.reason.detail}")
        raise _undecided(name, at, f"its value {error.name}", str(error.reason)) from None
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, told["loc"]))
        raise _undecided(name, at, f"its values fit ({place})", told["msg"]) from None


def _given(entry: Entry, settings: Mapping[str, str]) -> Entry:
    try:
        return given(entry, settings)
    except ValidationError:  # told with the host, where it counts
        return entry


def _undecided(name: str, at: Situation, what: str, observed: str) -> CheckFailed:
    return CheckFailed(
        f"{name} cannot be planned: {what} is not known",
        id="when-unknown",
        observed=observed,
        required="a fact that decides it: unknown is neither yes nor no",
        next_command=f"invoke probe --hosts {at.facts.host} --host-detail",
        host=at.facts.host,
    )


def _fits(text: str, values: tuple[str, ...]) -> bool:
    return text.isprintable() and (not values or text in values)


def _unfit(name: str, text: str, values: tuple[str, ...]) -> BadInput:
    return BadInput(
        f"the setting {name} cannot be {text!r}",
        id="setting-unknown",
        observed=f"--value {name}={text}",
        required=f"one of {', '.join(values)}" if values else "one line of text",
        next_command="the same command with another --value",
    )


def _unknown_setting(name: str, known: Iterable[str]) -> BadInput:
    near = get_close_matches(name, list(known), n=1)
    return BadInput(
        f"no playbook of these has a setting {name}" + (f", did you mean {near[0]}?" if near else ""),
        id="setting-unknown",
        observed=f"--value {name}",
        required=f"one of {', '.join(known) or 'none'}",
        next_command="the same command with another --value",
    )
