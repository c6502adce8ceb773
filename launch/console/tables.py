"""Rows of the tables that verbs print: pure, so that they can be read in a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from launch.running.cache_lines import against

if TYPE_CHECKING:
    from launch.catalogue.find import Found
    from launch.running.status import Status
    from launch.running.supervise import Told

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


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
                status.phases.get(member.host, ""),
                _main(told),
                "" if told is None or told.log_age_s is None else f"{told.log_age_s} s ago",
                " ".join(member.urls) or "headless",
                "" if answer is None else f"{answer.seconds} s" if answer.ok else f"failed: {answer.error}",
                "" if told is None else against(gang.kv_tokens, at_most=gang.kv_at_most, seen=told.caches),
                member.supervisor,
            )
        )
    return (
        "host",
        "ranks",
        "state",
        "phase",
        "main process",
        "last log line",
        "endpoint",
        "completion",
        "KV cache",
        "supervisor",
    ), rows


def _main(told: Told | None) -> str:
    """What is known of the main process: its pid, how often it was restarted, how it ended."""
    if told is None:
        return ""
    parts = [f"pid {told.pid}"] if told.pid else []
    if told.restarts:
        parts.append(f"{told.restarts} restarts")
    if told.exit_status is not None and not told.pid:
        parts.append(f"exit status {told.exit_status}")
    return ", ".join(parts)


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
