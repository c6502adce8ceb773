"""The files for Prometheus and Grafana: every expression is one that Prometheus takes, every address a real one."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.yamlfile import read_plain
from launch.serving.monitoring.alerts import Limits, alert_rules
from launch.serving.monitoring.dashboard import dashboard
from launch.serving.monitoring.export import export, files
from launch.serving.monitoring.scrape import prometheus_config
from tests.unit.launch.serving.gang import GANG

ALL = Limits(ttft_p95_s=2.5, itl_p95_s=0.05)


def expressions() -> list[str]:
    rules = [one["expr"] for one in alert_rules(GANG, ALL)["groups"][0]["rules"]]
    return rules + [line["expr"] for panel in dashboard(GANG)["panels"] for line in panel["targets"]]


def test_targets_are_the_endpoints_with_their_hosts() -> None:
    (job,) = prometheus_config(GANG, scrape_s=15)["scrape_configs"]
    assert [one["targets"] for one in job["static_configs"]] == [["10.2.0.1:8000"], ["[fd00::2]:8000"]]
    assert [one["labels"]["host"] for one in job["static_configs"]] == ["tray1", "tray2"]


def test_every_rank_that_is_missing_is_an_alert() -> None:
    rules = {one["alert"]: one for one in alert_rules(GANG, ALL)["groups"][0]["rules"]}
    assert "< 8" in rules["VllmRankMissing"]["expr"]
    assert rules["VllmRankMissing"]["labels"]["severity"] == "page"
    assert "0.95" in rules["VllmKvCacheFull"]["expr"]
    assert "> 2.5" in rules["VllmFirstTokenLate"]["expr"]


def test_no_limit_is_invented_for_latencies() -> None:
    names = [one["alert"] for one in alert_rules(GANG, Limits())["groups"][0]["rules"]]
    assert not {"VllmFirstTokenLate", "VllmTokensSlow"} & set(names)


def test_every_expression_is_about_this_deployment_alone() -> None:
    for one in expressions():
        assert one.count("{") == one.count('{deployment="deepseek-v4-pro"}'), one


def test_prometheus_itself_takes_the_files(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: Debian's package prometheus has it")
    written = export(tmp_path, files(GANG, ALL, scrape_s=15))
    checked = subprocess.run(
        ["promtool", "check", "config", written[0]], capture_output=True, text=True, check=False, timeout=60
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    for one in expressions():
        rule = tmp_path / "one.yml"
        rule.write_text(json.dumps({"groups": [{"name": "g", "rules": [{"record": "r", "expr": one}]}]}))
        parsed = subprocess.run(
            ["promtool", "check", "rules", rule], capture_output=True, text=True, check=False, timeout=60
        )
        assert parsed.returncode == 0, (one, parsed.stderr)


def test_files_are_written_over_earlier_ones_and_read_as_yaml(tmp_path: Path) -> None:
    for _ in range(2):
        written = export(tmp_path / "out", files(GANG, ALL, scrape_s=30))
    assert [path.name for path in written] == ["prometheus.yml", "alerts.yml", "dashboard.json"]
    assert {*(tmp_path / "out").iterdir()} == {*written}
    assert read_plain(written[0]) == prometheus_config(GANG, scrape_s=30)
    assert json.loads(written[2].read_text())["title"] == "vLLM deepseek-v4-pro"


def test_a_folder_that_cannot_be_made_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput) as refused:
        export(tmp_path / "file", {})
    assert refused.value.id == "output"
