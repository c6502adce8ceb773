"""What surrounds a deployment: metrics, clients and adapters on two simulated trays, typed as an operator would."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.lab import lifecycle
from inventory.lab.state import Lab
from inventory.yamlfile import read_plain
from launch import lab as labs
from tests.lab.cli import invoke
from tests.lab.conftest import on

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

KEY = "sk-lab-serving-0123456789abcdef"
DEPLOY = ("deploy", "--model", "deepseek-v4-pro", "--hosts", "tray1,tray2", "--lora-loading", "dynamic")
ADAPTER = "/srv/adapters/coder"


@pytest.fixture(scope="module")
def trays(machine_carries_labs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:  # noqa: ARG001
    """Two trays that serve, with a key, and with adapters that may come and go."""
    name = f"serving-{os.getpid()}"
    lab = labs.up(2, "gb200", name=name)
    key = tmp_path_factory.mktemp("key") / "key"
    key.write_text(KEY)
    made = invoke(*DEPLOY, "--load-balancing", "hybrid", "--api-key", str(key), inventory=lab.inventory)
    assert made.code == 0, made
    yield lab
    with suppress(BadInput):
        lifecycle.down(name)


def test_metrics_are_those_of_every_engine(trays: Lab) -> None:
    told = invoke("metrics", "--seconds", "1", "--json", inventory=trays.inventory)
    assert told.code == 0, told
    assert len(told.data) == 9, "eight ranks, and all together"
    assert told.data[-1]["name"] == "all"
    assert told.data[-1]["running"] == 0
    assert told.data[-1]["ttft_p95_s"] is None, "the stand-in measures no latency: absent, not zero"
    table = invoke("metrics", "--seconds", "1", inventory=trays.inventory)
    assert "KV cache" in table.out


def test_what_is_exported_has_the_real_addresses(trays: Lab, tmp_path: Path) -> None:
    typed = invoke("metrics.export", "--output", str(tmp_path / "out"), "--ttft-p95", "2.5", inventory=trays.inventory)
    assert typed.code == 0, typed
    config = read_plain(tmp_path / "out" / "prometheus.yml")
    assert isinstance(config, dict)
    targets = [one["targets"] for one in config["scrape_configs"][0]["static_configs"]]
    for host, (target,) in zip(("tray1", "tray2"), targets, strict=True):
        page = on(trays, host, f"curl -s --noproxy '*' http://{target}/metrics").stdout
        assert "vllm:num_requests_running" in page, target
    alerts = (tmp_path / "out" / "alerts.yml").read_text()
    assert "2.5" in alerts
    assert "--itl-p95" in typed.said, "says which alert is missing, and how to have it"


@pytest.mark.parametrize("client", ["claude-code", "openai", "curl"])
def test_a_client_gets_settings_that_work_and_never_the_key_itself(trays: Lab, client: str) -> None:
    typed = invoke("connect", "--client", client, inventory=trays.inventory)
    assert typed.code == 0, typed
    assert KEY not in typed.out + typed.said
    assert "KEY_FILE" in typed.out, "the key was not generated here"
    assert subprocess.run(["sh", "-n"], input=typed.out, text=True, check=False).returncode == 0
    if client == "curl":
        on(trays, "tray1", f"printf %s {KEY} >/root/key")
        answered = on(
            trays,
            "tray1",
            typed.out.replace("curl --config", "curl -s --noproxy '*' --config").replace("KEY_FILE", "/root/key"),
        )
        assert json.loads(answered.stdout)["choices"], answered


def test_an_adapter_is_served_everywhere_or_nowhere(trays: Lab) -> None:
    on(trays, "tray1", f"mkdir -p {ADAPTER} && echo '{{}}' >{ADAPTER}/adapter_config.json")
    half = invoke("lora.load", "--adapter", f"coder={ADAPTER}", inventory=trays.inventory)
    assert half.code == 5, half
    assert "No adapter found" in half.said
    assert "tray2" in half.said
    none = invoke("lora.list", "--json", inventory=trays.inventory)
    assert set(map(tuple, none.data.values())) == {()}, "tray1 has unloaded it again"

    on(trays, "tray2", f"mkdir -p {ADAPTER} && echo '{{}}' >{ADAPTER}/adapter_config.json")
    loaded = invoke("lora.load", "--adapter", f"coder={ADAPTER}", inventory=trays.inventory)
    assert loaded.code == 0, loaded
    assert invoke("lora.load", "--adapter", f"coder={ADAPTER}", inventory=trays.inventory).code == 4
    both = invoke("lora.list", "--json", inventory=trays.inventory)
    assert list(both.data.values()) == [["coder"], ["coder"]]
    gone = invoke("lora.unload", "--adapter", "coder", inventory=trays.inventory)
    assert gone.code == 0, gone
    assert invoke("lora.unload", "--adapter", "coder", inventory=trays.inventory).code == 4
