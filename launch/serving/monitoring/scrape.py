"""The configuration of Prometheus for one deployment: its endpoints, and the file of its alert rules. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from launch.serving.monitoring.alerts import interval

if TYPE_CHECKING:
    from launch.building.generation import Generation

ALERTS_FILE = "alerts.yml"


def prometheus_config(gang: Generation, *, scrape_s: int) -> dict[str, Any]:
    """A whole configuration; `scrape_configs` of it may be taken into another. `/metrics` of vLLM asks for no key."""
    return {
        "global": {"scrape_interval": interval(scrape_s), "evaluation_interval": interval(scrape_s)},
        "rule_files": [ALERTS_FILE],
        "scrape_configs": [
            {"job_name": f"vllm-{gang.name}", "metrics_path": "/metrics", "static_configs": targets(gang)}
        ],
    }


def targets(gang: Generation) -> list[dict[str, Any]]:
    """An entry for each host with public endpoints. A headless host has none: the head tells of its engines."""
    return [
        {
            "targets": [urlsplit(url).netloc for url in member.urls],
            "labels": {"deployment": gang.name, "host": member.host, "recipe": gang.recipe, "vllm": gang.vllm},
        }
        for member in gang.members
        if member.urls
    ]
