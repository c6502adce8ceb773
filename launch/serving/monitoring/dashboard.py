"""A dashboard for Grafana that shows one deployment: the metrics of the deployment handbook's section 8.2. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from launch.serving.monitoring.alerts import quantile_of, selector
from launch.serving.readings import BY_SOURCE, COUNTERS, GAUGES

if TYPE_CHECKING:
    from launch.generation import Generation

SCHEMA_VERSION = 39
"""Of Grafana 11's dashboards; later ones take it."""
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT, COLUMNS = 8, 8, 24


def dashboard(gang: Generation) -> dict[str, Any]:
    """The document that Grafana imports: it asks which Prometheus it is to read."""
    return {
        "title": f"vLLM {gang.name}",
        "uid": f"bringup-{gang.name}"[:40],
        "schemaVersion": SCHEMA_VERSION,
        "tags": ["vllm", "bringup"],
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": [
            {
                "id": number + 1,
                "type": "timeseries",
                "title": title,
                "datasource": DATASOURCE,
                "gridPos": {
                    "x": number * WIDTH % COLUMNS,
                    "y": number * WIDTH // COLUMNS * HEIGHT,
                    "w": WIDTH,
                    "h": HEIGHT,
                },
                "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                "targets": [
                    {
                        "refId": chr(ord("A") + place),
                        "expr": expression,
                        "legendFormat": legend,
                        "datasource": DATASOURCE,
                    }
                    for place, (expression, legend) in enumerate(lines)
                ],
            }
            for number, (title, unit, lines) in enumerate(_panels(gang))
        ],
    }


def _panels(gang: Generation) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Title, Grafana's unit, and the expressions with their legends."""
    here = selector(gang)

    def rate(key: str) -> str:
        return f"sum(rate({COUNTERS[key]}{here}[1m]))"

    return [
        ("Endpoints up", "short", [(f"up{here}", "{{host}} {{instance}}")]),
        (
            "Requests",
            "short",
            [(f"sum({GAUGES['running']}{here})", "running"), (f"sum({GAUGES['waiting']}{here})", "waiting")],
        ),
        ("KV cache in use", "percentunit", [(f"{GAUGES['kv_cache_usage']}{here}", "{{instance}} engine {{engine}}")]),
        (
            "Preemptions in 5 minutes",
            "short",
            [(f"sum by (instance, engine) (increase({COUNTERS['preemptions']}{here}[5m]))", "{{instance}} {{engine}}")],
        ),
        (
            "Prefix cache hits",
            "percentunit",
            [(f"{rate('prefix_hits')} / {rate('prefix_queries')}", "of queried tokens")],
        ),
        ("Cached prompt tokens by source", "short", [(f"sum by (source) (rate({BY_SOURCE}{here}[1m]))", "{{source}}")]),
        ("Time to first token", "s", [(quantile_of(gang, share, "ttft"), f"p{share:.0%}"[:-1]) for share in QUANTILES]),
        ("Time between tokens", "s", [(quantile_of(gang, share, "itl"), f"p{share:.0%}"[:-1]) for share in QUANTILES]),
        ("Tokens a second", "short", [(rate("prompt_tokens"), "prompt"), (rate("generation_tokens"), "generated")]),
    ]


QUANTILES = (0.5, 0.95, 0.99)
