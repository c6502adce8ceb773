"""Alert rules for one deployment: the metrics of the deployment handbook's section 8.2, and a rank that is gone. Pure.

The handbook gives three figures (cache above 0.95 for long, any preemption, fewer than 30 % of prompt tokens cached)
and none for latency: those rules are made only when the operator says a limit. How long it must last is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launch.serving.readings import COUNTERS, GAUGES, HISTOGRAMS

if TYPE_CHECKING:
    from launch.building.generation import Generation

CACHE_IS_FULL = 0.95
HIT_RATE_IS_LOW = 0.3


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator promises: 95 % of first tokens, and of later ones, come within so many seconds."""

    ttft_p95_s: float | None = None
    itl_p95_s: float | None = None


def interval(seconds: int) -> str:
    return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"


def selector(gang: Generation) -> str:
    # A deployment's name is made of letters, digits, dots and dashes: nothing in it ends the quotes.
    return f'{{deployment="{gang.name}"}}'


def ranks(gang: Generation) -> int:
    """Engines that must tell of themselves: the data-parallel ranks of the gang, and one where it has none."""
    return max(1, sum(member.ranks for member in gang.members))


def alert_rules(gang: Generation, limits: Limits) -> dict[str, Any]:
    """The rule file. Severity `page`: it does not serve; `ticket`: it serves worse than it should."""
    return {
        "groups": [{"name": f"vllm-{gang.name}", "rules": [*_serving(gang), *_capacity(gang), *_slow(gang, limits)]}]
    }


def _serving(gang: Generation) -> list[dict[str, Any]]:
    here = selector(gang)
    return [
        _rule(gang, "EndpointDown", f"up{here} == 0", 60, "page", "an endpoint does not answer /metrics"),
        _rule(
            gang,
            "RankMissing",
            f"count({GAUGES['running']}{here}) < {ranks(gang)} or absent({GAUGES['running']}{here})",
            60,
            "page",
            f"fewer than {ranks(gang)} engines are told of: one rank gone is the group down, whatever /health says",
        ),
        _rule(
            gang,
            "NoTokens",
            f"sum({GAUGES['running']}{here}) > 0 and sum(rate({COUNTERS['generation_tokens']}{here}[5m])) == 0",
            300,
            "page",
            "requests run and no token comes: a hang, or a very long prefill; only a completion decides which",
        ),
    ]


def _capacity(gang: Generation) -> list[dict[str, Any]]:
    here = selector(gang)
    waiting, queries, hits = GAUGES["waiting"], COUNTERS["prefix_queries"], COUNTERS["prefix_hits"]
    return [
        _rule(
            gang,
            "KvCacheFull",
            f"{GAUGES['kv_cache_usage']}{here} > {CACHE_IS_FULL}",
            900,
            "ticket",
            "the KV cache is nearly full for long: add GPUs or lower the context",
        ),
        _rule(
            gang,
            "QueueGrows",
            f"sum({waiting}{here}) > 0 and sum(deriv({waiting}{here}[10m])) > 0",
            600,
            "ticket",
            "requests wait, and ever more of them: the time to the first token will follow",
        ),
        _rule(
            gang,
            "Preemptions",
            f"sum(increase({COUNTERS['preemptions']}{here}[10m])) > 0",
            0,
            "ticket",
            "requests were thrown out of the KV cache and computed again: it is too small for this load",
        ),
        _rule(
            gang,
            "PrefixCacheMisses",
            f"sum(rate({hits}{here}[30m])) / sum(rate({queries}{here}[30m])) < {HIT_RATE_IS_LOW}",
            1800,
            "ticket",
            "few prompt tokens come from the prefix cache; for conversations of many turns it then does not work",
        ),
    ]


def _slow(gang: Generation, limits: Limits) -> list[dict[str, Any]]:
    wanted = (("FirstTokenLate", "ttft", limits.ttft_p95_s), ("TokensSlow", "itl", limits.itl_p95_s))
    return [
        _rule(
            gang,
            name,
            f"{quantile_of(gang, 0.95, key)} > {limit:g}",
            600,
            "ticket",
            f"5 % of the {'first tokens take' if key == 'ttft' else 'gaps between tokens are'} longer than {limit:g} s",
        )
        for name, key, limit in wanted
        if limit is not None
    ]


def quantile_of(gang: Generation, share: float, key: str) -> str:
    """The expression for a quantile of a histogram over the last 5 minutes."""
    return f"histogram_quantile({share:g}, sum by (le) (rate({HISTOGRAMS[key]}_bucket{selector(gang)}[5m])))"


def _rule(gang: Generation, name: str, expression: str, for_s: int, severity: str, means: str) -> dict[str, Any]:
    lasting = {"for": interval(for_s)} if for_s else {}
    return {
        "alert": f"Vllm{name}",
        "expr": expression,
        **lasting,
        "labels": {"severity": severity, "deployment": gang.name},
        "annotations": {"summary": f"{gang.name}: {means}", "next": f"invoke status {gang.flags}"},
    }
