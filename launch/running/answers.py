"""The seven answers of `status`, in their order: as lines for a person, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from launch.console.tables import status_rows
from launch.running.history import ground_since
from launch.running.placed import audit
from launch.running.verdict import Health
from playbooks.finding import Status as Found

if TYPE_CHECKING:
    from launch.console.report import Report
    from launch.running.status import Status

AT_REST = frozenset({"stopped", "absent"})
_STYLES = {Health.HEALTHY: "green", Health.STOPPED: "yellow"}


def show(seen: Status, report: Report) -> None:
    """The verdict, the table on stdout, and what is behind them."""
    from launch.console.report import print_table

    gang, verdict = seen.deployment.gang, seen.verdict
    report.say(f"{gang.name}: {verdict.health}: {verdict.reason}", style=_STYLES.get(verdict.health, "bold red"))
    print_table(*status_rows(seen))
    for part in (_first(seen), _hardware(seen), _load(seen), _guarded(seen), _changed(seen)):
        for line in part:
            report.say(line)
    for line in seen.next_step.lines() if seen.next_step else (f"next: {verdict.next_command}",):
        report.say(line)


def _first(seen: Status) -> Iterator[str]:
    """What failed first, by the ends of the logs; `diagnose` looks further."""
    if seen.first:
        named = f" [{seen.first.id}]" if seen.first.id else ""
        yield f"failed first: {seen.first.host}: {seen.first.sentence}{named}"
    if seen.verdict.health in {Health.DOWN, Health.DEGRADED, Health.UNKNOWN}:
        yield f"  more: invoke diagnose {seen.deployment.gang.flags}"


def _hardware(seen: Status) -> Iterator[str]:
    for host, words in seen.hardware.told.items():
        wrong = [one for one in seen.hardware.findings if one.host == host]
        yield f"hardware: {host}: {words}" + ("" if wrong else ": nothing wrong is seen")
        for one in wrong:
            if one.status is not Found.WARN or seen.verdict.health is not Health.HEALTHY:
                yield f"  {one.status.upper()} {one.check}: {one.observed}; {one.remedy}"
    for host, error in seen.hardware.errors.items():
        yield f"hardware: {host}: unknown: {error}"
    for host, look in seen.looks.items():
        if look.gpus_error:
            yield f"  {host}: the tool of the GPUs said: {look.gpus_error}"
        for line in audit(look.processes, simulated=seen.hardware.simulated) if look.processes else ():
            yield f"  {host}: {line}"


def _load(seen: Status) -> Iterator[str]:
    for host, look in seen.looks.items():
        totals = [one for one in look.loads if one.name == "all"] or list(look.loads)
        for one in totals:
            yield f"load: {host}: {_in_words(one)}"
            if one.is_stuck:
                yield "  requests run and no token came: a hang, or a long prefill; the completion above decides"
        if look.metrics_error:
            yield f"load: {host}: unknown: {look.metrics_error}"
        busy = [gpu for gpu in look.gpus if gpu.busy is not None]
        if busy:
            shown = ", ".join(f"{one.index}: {one.busy:.0f} %, {_watts(one.watts)}" for one in busy)
            yield f"  {host}: GPUs busy: {shown}"


def _guarded(seen: Status) -> Iterator[str]:
    """Whether somebody would act on a failure, where that was asked for: of a group that was stopped nobody has to."""
    guards = {host: one.guard for host, one in seen.deployment.told.items() if one.guard is not None}
    gone = [host for host, runs in guards.items() if not runs]
    if gone and any(one.ranks.state not in AT_REST for one in seen.deployment.told.values()):
        yield f"guard: gone on {', '.join(gone)}: a failure of the group would stay; the same deploy again starts it"
    elif guards and not gone:
        yield f"guard: runs on {', '.join(guards)}"


def _watts(watts: float | None) -> str:
    return "power unknown" if watts is None else f"{watts:.0f} W"


def _in_words(load: Any) -> str:  # noqa: ANN401  (a Load)
    """`3 running, 0 waiting, 120 tokens/s, cache 41 %`: what the engines do not tell is left out."""
    parts = []
    if load.running is not None:
        parts.append(f"{load.running:.0f} running")
    if load.waiting is not None:
        parts.append(f"{load.waiting:.0f} waiting")
    if load.generation_rate is not None:
        parts.append(f"{load.generation_rate:.0f} tokens/s")
    if load.kv_cache_usage is not None:
        parts.append(f"KV cache {100 * load.kv_cache_usage:.0f} % used")
    if load.prefix_hit_rate is not None:
        parts.append(f"prefix hits {100 * load.prefix_hit_rate:.0f} %")
    if load.preemptions:
        parts.append(f"{load.preemptions:.0f} preemptions")
    return ", ".join(parts) or "no numbers"


def _changed(seen: Status) -> Iterator[str]:
    for entry in reversed(seen.history):
        took = f", ready in {entry.ready_s:.0f} s" if entry.ready_s is not None else ""
        warm = {True: ", warm", False: ", cold"}.get(entry.warm, "") if entry.warm is not None else ""
        yield f"was: {entry.at} {entry.verb} {entry.generation} by {entry.who}: {entry.outcome}{took}{warm}"
    for host, look in seen.looks.items():
        for line in ground_since(look.history):
            yield f"changed: {host}: {line}"


def document(seen: Status) -> dict[str, Any]:
    """What `--json` prints: everything but the logs, which are asked for by their own verb."""
    return {
        "deployment": seen.deployment,
        "states": seen.states,
        "answers": seen.answers,
        "verdict": seen.verdict,
        "phases": seen.phases,
        "first_failure": seen.first,
        "hardware": seen.hardware,
        "load": {host: look.loads for host, look in seen.looks.items()},
        "gpus": {host: look.gpus for host, look in seen.looks.items()},
        "placement": {
            host: {
                "processes": [{**asdict(one), "place": one.place} for one in look.processes],
                "told": audit(look.processes, simulated=seen.hardware.simulated),
            }
            for host, look in seen.looks.items()
        },
        "history": seen.history,
        "changed": {host: ground_since(look.history) for host, look in seen.looks.items()},
        "usual": seen.usual,
        "next_step": seen.next_step,
    }
