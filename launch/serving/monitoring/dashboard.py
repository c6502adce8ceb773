"""A dashboard for Grafana that shows one deployment: the metrics of the deployment handbook's section 8.2. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launch.serving.monitoring.alerts import quantile_of, selector
from launch.serving.readings import BY_SOURCE, COUNTERS, GAUGES

if TYPE_CHECKING:
    from launch.building.generation import Generation

SCHEMA_VERSION = 39
"""Of Grafana 11's dashboards; later ones take it."""
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT, COLUMNS = 8, 8, 24


@dataclass(frozen=True, slots=True)
class Panel:
    """`unit`: Grafana's name; `lines`: expressions with their legends."""

    title: str
    unit: str
    lines: tuple[tuple[str, str], ...]


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
        "panels": [_drawn(number, panel) for number, panel in enumerate(_panels(gang))],
    }


def _drawn(number: int, panel: Panel) -> dict[str, Any]:
    place = {"x": number * WIDTH % COLUMNS, "y": number * WIDTH // COLUMNS * HEIGHT, "w": WIDTH, "h": HEIGHT}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": DATASOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + line), "expr": expression, "legendFormat": legend, "datasource": DATASOURCE}
            for line, (expression, legend) in enumerate(panel.lines)
        ],
    }


def _panels(gang: Generation) -> tuple[Panel, ...]:
    here = selector(gang)
    engine = "{{instance}} engine {{engine}}"
    preempted = f"sum by (instance, engine) (increase({COUNTERS['preemptions']}{here}[5m]))"
    hits, queries, prompt, generated = (
        f"sum(rate({COUNTERS[key]}{here}[1m]))"
        for key in ("prefix_hits", "prefix_queries", "prompt_tokens", "generation_tokens")
    )
    requests = ((f"sum({GAUGES['running']}{here})", "running"), (f"sum({GAUGES['waiting']}{here})", "waiting"))
    return (
        Panel("Endpoints up", "short", ((f"up{here}", "{{host}} {{instance}}"),)),
        Panel("Requests", "short", requests),
        Panel("KV cache in use", "percentunit", ((f"{GAUGES['kv_cache_usage']}{here}", engine),)),
        Panel("Preemptions in 5 minutes", "short", ((preempted, engine),)),
        Panel("Prefix cache hits", "percentunit", ((f"{hits} / {queries}", "of queried tokens"),)),
        Panel("Cached tokens by source", "short", ((f"sum by (source) (rate({BY_SOURCE}{here}[1m]))", "{{source}}"),)),
        Panel("Time to first token", "s", _quantiles(gang, "ttft")),
        Panel("Time between tokens", "s", _quantiles(gang, "itl")),
        Panel("Tokens a second", "short", ((prompt, "prompt"), (generated, "generated"))),
    )


def _quantiles(gang: Generation, key: str) -> tuple[tuple[str, str], ...]:
    return tuple((quantile_of(gang, share, key), f"p{share * 100:.0f}") for share in (0.5, 0.95, 0.99))
