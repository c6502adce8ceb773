"""Look at the metrics of a deployment twice, and say what it does in between."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from launch.serving.endpoints import ask
from launch.serving.monitoring.alerts import ranks
from launch.serving.readings import Load, Reading, loads, read_page

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from launch.building.generation import Generation
    from launch.console.tables import Table

COLUMNS = (
    *("engine", "running", "waiting", "KV cache", "preempted", "prefix hits", "prompt tok/s", "output tok/s"),
    *("TTFT p95", "ITL p95"),
)


@dataclass(frozen=True, slots=True)
class Looked:
    """`loads`: each engine's, then all together. `silent`: endpoints without metrics, with what they said."""

    loads: tuple[Load, ...]
    silent: dict[str, str]
    errors: tuple[BringupError, ...]

    def remarks(self, gang: Generation) -> tuple[str, ...]:
        found = [f"{url}: no metrics: {said}" for url, said in self.silent.items()]
        engines = [one for one in self.loads if one.name != "all"]
        if engines and len(engines) < ranks(gang) and not self.silent:
            found.append(f"{len(engines)} of {ranks(gang)} engines tell of themselves: invoke status {gang.flags}")
        found += [
            f"{one.name}: requests run and no token came in {one.seconds:.0f} s: a hang or a long prefill; "
            f"invoke status {gang.flags}"
            for one in engines
            if one.is_stuck
        ]
        return tuple(found)


def look(fleet: Fleet, gang: Generation, between_s: float, unanswered: Mapping[str, BringupError]) -> Looked:
    """Read every endpoint twice, `between_s` apart; a host that did not answer once is not waited for again."""
    first, _, lost = _readings(fleet, gang, unanswered)
    began = time.monotonic()
    time.sleep(between_s)
    second, silent, lost = _readings(fleet, gang, lost)
    return Looked(loads(first, second, time.monotonic() - began), silent, tuple(lost.values()))


def _readings(
    fleet: Fleet, gang: Generation, lost: Mapping[str, BringupError]
) -> tuple[tuple[Reading, ...], dict[str, str], dict[str, BringupError]]:
    """What the endpoints of hosts that are not `lost` say, and all hosts that are by now."""
    hosts = [one for one in gang.hosts if one not in lost]
    replies, more = ask(fleet, gang, "/metrics", hosts=hosts) if hosts else ((), {})
    found: list[Reading] = []
    silent = {one.url: one.said for one in replies if not one.ok}
    for one in replies:
        try:
            found += read_page(one.body, one.url) if one.ok else ()
        except ValueError as error:
            silent[one.url] = f"not in Prometheus' format: {error}"
    return tuple(found), silent, {**lost, **more}


def load_rows(found: Sequence[Load]) -> Table:
    return COLUMNS, [
        (
            one.name,
            _number(one.running),
            _number(one.waiting),
            _share(one.kv_cache_usage),
            _number(one.preemptions),
            _share(one.prefix_hit_rate),
            _number(one.prompt_rate),
            _number(one.generation_rate),
            _time(one.ttft_p95_s),
            _time(one.itl_p95_s),
        )
        for one in found
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
