"""Deployments on a host, as its state dir and process table tell them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import RunningDeployment
from inventory.facts.jsontext import Fields, parse_object
from inventory.facts.software import folder_fault
from inventory.facts.system import word

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
CGROUP = re.compile(r"(\d{1,10}) (/.*)")
State = Literal["running", "partial", "dead", "stopped"]


@dataclass(frozen=True, slots=True)
class Report:
    """What sh/state.sh prints of one deployment.

    `record`: pid, start time and boot id of a process group's leader; `leader`: state letter and start time of the
    process that has that pid now; `unit`: systemd's properties.
    """

    name: str
    generation: str
    record: tuple[str, ...]
    leader: tuple[str, ...]
    unit: Mapping[str, str]
    pids: tuple[int, ...]
    cgroups: tuple[tuple[int, str], ...] = ()
    guard_pids: tuple[int, ...] = ()


def read_deployments(answers: Answers) -> Maybe[tuple[RunningDeployment, ...]]:
    fault = folder_fault(answers, "deployments.folder")
    if fault:
        return fault
    boot_id = word(answers, "deployments.boot")
    found = []
    for number in numbers(answers):
        report = answers.text(f"deployments.report.{number}")
        if isinstance(report, Unknown):
            return report
        generation = parse_object(word(answers, f"deployments.generation.{number}")) or Fields({})
        found.append(deployment(parse_report(report), generation, boot_id))
    # A section that ran out of time may have come to none: that is not "no deployment".
    return (
        tuple(found) if "deployments.end" in answers.files and ended_well(answers) else answers.silence("deployments")
    )


def ended_well(answers: Answers) -> bool:
    return answers.files["deployments.end"].strip() not in {b"124", b"137"}


def numbers(answers: Answers) -> tuple[int, ...]:
    matches = (re.fullmatch(r"deployments\.generation\.(\d{1,4})", name) for name in answers.statuses)
    return tuple(sorted(int(match[1]) for match in matches if match))


def parse_report(text: str) -> Report:
    lines: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        lines.setdefault(key, []).append(value)
    first = {key: values[0] for key, values in lines.items()}
    properties = (line.partition("=") for line in lines.get("unit", []))
    return Report(
        name=first.get("name", ""),
        generation=first.get("generation", ""),
        record=tuple(first.get("record", "").split()),
        leader=tuple(first.get("leader", "").split()),
        unit={key: value for key, _, value in properties},
        pids=pids_in(lines.get("process", [])),
        guard_pids=pids_in(lines.get("guard", [])),
        cgroups=tuple((int(one[1]), one[2]) for line in lines.get("cgroup", []) if (one := CGROUP.fullmatch(line))),
    )


def pids_in(words: Iterable[str]) -> tuple[int, ...]:
    return tuple(int(word) for word in words if re.fullmatch(r"\d{1,10}", word))


def deployment(report: Report, generation: Fields, boot_id: str) -> RunningDeployment:
    supervisor: Literal["systemd", "process-group"] = (
        "systemd" if generation.text("supervisor") == "systemd" else "process-group"
    )
    state = unit_state(report) if supervisor == "systemd" else group_state(report, boot_id)
    return RunningDeployment(
        name=report.name,
        generation=report.generation,
        head=generation.flag("head"),
        state=state,
        supervisor=supervisor,
        pids=report.pids,
        cgroups=report.cgroups,
        guard_pids=report.guard_pids,
    )


def unit_state(report: Report) -> State:
    """A unit between two tries (`auto-restart`) has no main process: dead, or partial with orphans."""
    if report.unit.get("ActiveState") == "active" and report.unit.get("MainPID", "0") != "0":
        return "running"
    if report.pids:
        return "partial"
    return "stopped" if report.unit.get("ActiveState", "inactive") == "inactive" else "dead"


def group_state(report: Report, boot_id: str) -> State:
    """`stop` takes the record away: a record without its process is a death (or a reboot)."""
    if leads(report, boot_id):
        return "running"
    if report.pids:
        return "partial"
    return "dead" if report.record else "stopped"


def leads(report: Report, boot_id: str) -> bool:
    """The recorded process still is: same boot, same start time (else the pid was given to another), no zombie."""
    if len(report.record) != 3 or len(report.leader) != 2:
        return False
    _, started, booted = report.record
    letter, now_started = report.leader
    return booted == boot_id and started == now_started and letter not in {"Z", "X"}
