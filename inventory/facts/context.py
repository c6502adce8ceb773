"""The launch context: what sh/context.sh reported from where a rank would be started."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeVar

from inventory.facts.answers import Answers
from inventory.facts.base import NOT_ASKED, Maybe, Unknown, Why, is_known
from inventory.facts.context_parts import (
    parse_capability,
    parse_devices,
    parse_environment,
    parse_id,
    parse_limit,
    parse_memory_maximum,
    parse_numactl_probe,
    parse_pids,
    parse_shared_memory,
    parse_status_list,
)
from inventory.facts.cpu import count_cores, read_online, read_positions
from inventory.facts.host import LaunchContext, Limit, NumaBind

T = TypeVar("T")
Where = Literal["systemd-unit", "container", "process-group", "login"]
PLACES: tuple[Where, ...] = ("systemd-unit", "container", "process-group")
PART = re.compile(r"^@ ([a-z-]+)\n", re.MULTILINE)
IPC_LOCK, SYS_NICE = 14, 23  # bits of capabilities, linux/capability.h
UNIT_REFUSED = "a transient unit could not be started: "


def read_context(answers: Answers) -> Maybe[LaunchContext]:
    """The context, or why nobody could look there."""
    where, report = read_report(answers)
    if isinstance(report, Unknown):
        return report
    context = parse_report(report, where)
    return with_cores(context, answers)


def read_numa_bind(answers: Answers) -> Maybe[NumaBind]:
    _, report = read_report(answers)
    return report if isinstance(report, Unknown) else of_part(parts(report), "numactl", parse_numactl_probe)


def read_report(answers: Answers) -> tuple[Where, Maybe[str]]:
    for where in PLACES:
        item = answers.item(f"context.{where}")
        if isinstance(item, Unknown):
            continue
        if item.text.startswith("@ "):
            return where, item.text
        reason = item.reason
        return where, Unknown(reason.why, UNIT_REFUSED + reason.detail if where == "systemd-unit" else reason.detail)
    return "login", answers.silence("context")


def with_cores(context: LaunchContext, answers: Answers) -> LaunchContext:
    """Count the physical cores of the context's own set."""
    online = read_online(answers)
    if not (is_known(online) and is_known(context.cpus_allowed)):
        return context
    usable = set(online).intersection(context.cpus_allowed)
    return replace(context, physical_cores=count_cores(read_positions(answers), usable))


def parts(report: str) -> dict[str, str]:
    """The text of each part of a report."""
    pieces = PART.split(report)[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


def parse_report(report: str, where: Where) -> LaunchContext:
    """A report of `context_report`; a part that is not in it is unknown."""
    told = parts(report)
    status, limits = told.get("status", ""), told.get("limits", "")
    user, uid, groups = parse_id(told.get("id", ""))
    return LaunchContext(
        where=where,
        is_cleared=where != "container",
        user=user,
        uid=uid,
        groups=groups,
        cgroup=parse_cgroup(told.get("cgroup", "")),
        locked_memory=parse_limit(limits, "locked memory"),
        open_files=parse_limit(limits, "open files"),
        processes=parse_limit(limits, "processes"),
        engine_locked_memory=_engine(told.get("engine-limits", "")),
        cpus_allowed=parse_status_list(status, "Cpus_allowed_list"),
        nodes_allowed=parse_status_list(status, "Mems_allowed_list"),
        memory_policy=told["mempolicy"].strip() if told.get("mempolicy", "").strip() else NOT_ASKED,
        memory_maximum=parse_memory_maximum(told.get("cgroup-limits", "")),
        pids=parse_pids(told.get("cgroup-limits", ""), told.get("kernel", "")),
        shared_memory=parse_shared_memory(told.get("shm", ""), told.get("shm-files", "")),
        environment=of_part(told, "environment", lambda text: parse_environment(text.splitlines())),
        devices=of_part(told, "devices", parse_devices),
        ipc_lock=parse_capability(status, IPC_LOCK),
        sys_nice=parse_capability(status, SYS_NICE),
    )


def parse_cgroup(text: str) -> str:
    """The path in /proc/PID/cgroup: of cgroups v2, else of systemd's own hierarchy."""
    found = re.search(r"(?m)^0::(/.*)$", text)
    own = re.search(r"(?m)^\d+:name=systemd:(/.*)$", text)
    if own and (found is None or found[1] == "/"):
        return own[1]
    return found[1] if found else ""


def _engine(text: str) -> Maybe[Limit]:
    return parse_limit(text, "locked memory") if text.strip() else NOT_ASKED


def of_part(told: dict[str, str], name: str, parse: Callable[[str], Maybe[T]]) -> Maybe[T]:
    return parse(told[name]) if name in told else Unknown(Why.NOT_ASKED, f"{name}: not looked at")
