"""Write what Prometheus and Grafana need for a deployment into one folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inventory.errors import BadInput
from inventory.yamlfile import written
from launch.serving.monitoring.alerts import alert_rules
from launch.serving.monitoring.dashboard import dashboard
from launch.serving.monitoring.scrape import ALERTS_FILE, prometheus_config

if TYPE_CHECKING:
    from pathlib import Path

    from launch.building.generation import Generation
    from launch.serving.monitoring.alerts import Limits


def files(gang: Generation, limits: Limits, *, scrape_s: int) -> dict[str, str]:
    """The texts by name."""
    head = f"# {gang.name}, generation {gang.generation}: written by `invoke metrics.export {gang.flags}`\n"
    return {
        "prometheus.yml": head + written(prometheus_config(gang, scrape_s=scrape_s)),
        ALERTS_FILE: head + written(alert_rules(gang, limits)),
        "dashboard.json": json.dumps(dashboard(gang), indent=1) + "\n",
    }


def export(folder: Path, texts: dict[str, str]) -> list[Path]:
    """Write the files, over earlier ones of the same names. Raises `BadInput` when that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            new = folder / f".{name}.new"
            new.write_text(text, encoding="utf-8")
            new.replace(folder / name)
    except OSError as error:
        raise BadInput(
            "the files for Prometheus and Grafana cannot be written",
            id="output",
            observed=str(error),
            required="a folder that this user may write",
            next_command="the same command with --output DIR",
        ) from error
    return [folder / name for name in texts]
