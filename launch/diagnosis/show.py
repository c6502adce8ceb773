"""A judgement as an operator reads it: the answer, its lines, what to type, and what was not checked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from inventory.quoting import quote
from launch.diagnosis.told import Evidence, Found

if TYPE_CHECKING:
    from launch.diagnosis.capture import Capture
    from launch.diagnosis.judge import Judgement

SHOWN = 6
_NAMES = re.compile(r"\b(?:HOSTS|HOST|NAME|MODEL|OTHERS)\b")


def lines(judged: Judgement, capture: Capture) -> Iterator[str]:
    """All of it."""
    yield from _head(judged)
    if judged.first:
        yield from _first(judged.first)
    yield from (f"  not known: {_where(one)}" for one in judged.errors if judged.answer == "unknown")
    yield from (f"silent: {one.sentence}; its last line: {one.last_line}" for one in judged.silent)
    yield from (f"also: {one.id} on {one.host}: {one.sentence}" for one in judged.also[:SHOWN])
    yield from (f"consequence: {one.id} on {one.host}: {one.sentence}" for one in judged.consequences[:SHOWN])
    yield from (f"check: {one.check} on {one.host or 'the plan'}: {one.observed}" for one in judged.findings[:SHOWN])
    names = names_of(capture, judged.first.host if judged.first else "")
    yield from (f"next: {filled(one, names)}" for one in judged.next_commands)
    if judged.first and judged.answer == "known":
        yield from (f"look: {filled(one, names)}" for one in judged.first.look)
    if judged.retry:
        yield "retry: the same once more may be enough; a second time it is not"
    yield from (f"not checked: {one}" for one in judged.not_checked)
    if judged.first:
        yield f"more: {judged.first.runbook}"


def _head(judged: Judgement) -> Iterator[str]:
    first = judged.first
    if judged.answer == "nothing":
        yield "nothing found that failed, in what was looked at"
    elif first is None:
        yield f"the cause is {judged.answer if judged.answer == 'unknown' else 'not told by any log'}: {judged.why}"
    elif judged.answer == "consequence":
        yield f"only a consequence is told: {first.sentence} [{first.id}]"
        yield f"  {judged.why}"
    else:
        kind = "note" if first.severity == "info" else "first cause"
        yield f"{kind}: {first.sentence} [{first.id}]"
        yield f"  confidence: {judged.confidence}; {judged.why}"


def _first(first: Found) -> Iterator[str]:
    ranks = f", rank {', '.join(map(str, first.ranks))}" if first.ranks else ""
    when = f", at {moment(first.at)}" if first.at is not None else ""
    if first.host:
        yield f"  where: {first.host}{ranks}{when}"
    yield f"  why: {first.cause}"
    yield from (f"  seen: {_where(one)}" for one in first.evidence)
    if first.count > len(first.evidence) > 0:
        yield f"  seen: {first.count} times in all"
    yield from (f"  and: {one}" for one in first.details)
    if first.message:
        yield f"  message: {first.message}"
    if first.confirmed_by:
        yield f"  confirmed by: {', '.join(first.confirmed_by)}"


def _where(one: Evidence) -> str:
    when = f" {moment(one.at)}" if one.at is not None else ""
    return f"{one.file}:{one.line}{when}: {one.text}"


def moment(at: float) -> str:
    """Corrected, in UTC. A log without a year has none."""
    return datetime.fromtimestamp(at, UTC).strftime("%m-%d %H:%M:%S")


def names_of(capture: Capture, host: str) -> dict[str, str]:
    others = ",".join(one for one in capture.hosts if one != host)
    hosts = ",".join(capture.hosts)
    known = {"HOST": host, "HOSTS": hosts, "OTHERS": others, "NAME": capture.name, "MODEL": capture.model}
    return {word: quote(value) for word, value in known.items() if value}


def filled(text: str, names: Mapping[str, str]) -> str:
    """A command with the real names; what is not known stays in capitals."""
    return _NAMES.sub(lambda match: names.get(match[0], match[0]), text)


def sentence(judged: Judgement) -> str:
    """The answer in one line, for an error message."""
    return next(_head(judged), "")


def as_data(judged: Judgement, capture: Capture) -> dict[str, object]:
    """For `--json`: the judgement, with real names in its commands."""
    names = names_of(capture, judged.first.host if judged.first else "")
    first = judged.first
    return {
        "answer": judged.answer,
        "id": judged.id,
        "host": first.host if first else "",
        "ranks": first.ranks if first else (),
        "confidence": judged.confidence,
        "why": judged.why,
        "first": first,
        "also": judged.also,
        "consequences": judged.consequences,
        "errors": judged.errors,
        "silent": judged.silent,
        "findings": judged.findings,
        "commands": [filled(one, names) for one in judged.next_commands],
        "look": [filled(one, names) for one in (first.look if first else ())],
        "retry": judged.retry,
        "not_checked": judged.not_checked,
        "hosts": capture.hosts,
        "unanswered": capture.unanswered,
    }


def brief(judged: Judgement, others: Sequence[str] = ()) -> str:
    """Two lines for a failed deploy: the answer and its first line."""
    seen = judged.first.evidence if judged.first else judged.errors
    where = f"\n    {_where(seen[0])}" if seen else ""
    return f"{sentence(judged)}{where}" + "".join(f"\n    {one}" for one in others)
