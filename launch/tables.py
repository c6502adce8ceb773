"""Rows of the tables that verbs print: pure, so that they can be read in a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from inventory.facts.base import Maybe, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from inventory.facts.host import Gpus, HostFacts
    from launch.catalogue import Found
    from launch.operate import Status

T = TypeVar("T")
Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def fact_rows(facts: Mapping[str, HostFacts]) -> Table:
    """One line a host; what is unknown says why."""
    columns = ("host", "os", "cores", "memory", "numa", "gpus", "driver", "systemd", "deployments")
    rows = [
        (
            host,
            _show(one.system, lambda s: f"{s.id} {s.version} {s.architecture}"),
            _show(one.cpu, lambda c: f"{c.physical_cores} of {c.physical_cores_machine}"),
            _show(one.memory, lambda m: f"{m.total_bytes / 2**30:.0f} GiB"),
            _show(one.numa, lambda nodes: str(sum(bool(node.cpus) for node in nodes))),
            _show(one.gpus, _gpus),
            _show(one.gpus, lambda g: g.driver or ""),
            _show(one.software, lambda s: s.systemd or "no"),
            _show(one.deployments, lambda ds: ", ".join(f"{d.name} {d.state}" for d in ds)),
        )
        for host, one in facts.items()
    ]
    return columns, rows


def status_rows(status: Status) -> Table:
    gang = status.deployment.gang
    canary = {answer.endpoint.host: answer for answer in status.answers}
    rows = []
    for member in gang.members:
        told, answer = status.deployment.told.get(member.host), canary.get(member.host)
        rows.append(
            (
                member.host,
                f"{member.start_rank}-{member.start_rank + member.ranks - 1}" if member.ranks else "part of 0",
                status.states[member.host],
                "" if told is None or told.log_age_s is None else f"{told.log_age_s} s ago",
                member.url or "headless",
                "" if answer is None else f"{answer.seconds} s" if answer.ok else f"failed: {answer.error}",
                member.supervisor,
            )
        )
    return ("host", "ranks", "state", "last log line", "endpoint", "completion", "supervisor"), rows


def recipe_rows(found: Sequence[Found]) -> Table:
    rows = [
        (
            one.id,
            ", ".join(one.recipe.variants),
            ", ".join(one.recipe.compatible_strategies),
            ", ".join(key for key, value in one.recipe.meta.hardware.items() if value != "unsupported"),
            one.recipe.bringup.vllm_version or "",
        )
        for one in found
    ]
    return ("model", "variants", "strategies", "hardware", "vllm"), rows


def _show(fact: Maybe[T], text: Callable[[T], str]) -> str:
    return str(fact) if isinstance(fact, Unknown) else text(fact)


def _gpus(gpus: Gpus) -> str:
    if gpus.vendor == "none":
        return "none"
    names = dict.fromkeys(gpu.name for gpu in gpus.devices)
    counted = ", ".join(f"{sum(gpu.name == name for gpu in gpus.devices)}x {name}" for name in names)
    return f"{counted} (simulated)" if gpus.simulated else counted
