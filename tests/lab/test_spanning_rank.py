"""One rank over two simulated GB200 trays with the stand-in engine, typed as an operator would."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from inventory.errors import BadInput
from inventory.lab import lifecycle
from inventory.lab.state import Lab
from launch import lab as labs
from tests.lab.cli import invoke
from tests.lab.conftest import on

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-deploy"), pytest.mark.timeout(300)]

DEPLOY = ("deploy", "--model", "glm-5", "--hosts", "tray1,tray2")
RECORD = "/var/lib/bringup/deployments/glm-5/current/record"


@pytest.fixture
def trays(machine_carries_labs: None) -> Iterator[Lab]:  # noqa: ARG001  (asked first)
    yield labs.up(2, "gb200", name=f"spanning-{os.getpid()}")
    with suppress(BadInput):  # it never came up
        lifecycle.down(f"spanning-{os.getpid()}")


def test_tensor_parallel_over_two_trays_serves_at_the_head_and_fails_as_one(trays: Lab) -> None:
    first = invoke(*DEPLOY, inventory=trays.inventory)
    assert first.code == 0, first
    assert "1 rank over 2 hosts, TP 8" in first.said
    for rank, host in enumerate(("tray1", "tray2")):
        words = on(trays, host, f"tr '\\0' ' ' </proc/$(cut -d' ' -f1 {RECORD})/cmdline").stdout
        assert f"--nnodes 2 --node-rank {rank} " in words
        assert ("--headless" in words) == bool(rank)
    healthy = invoke("status", "--json", inventory=trays.inventory)
    assert healthy.code == 0, healthy

    on(trays, "tray2", f"kill -9 $(cut -d' ' -f1 {RECORD})")
    down = invoke("status", inventory=trays.inventory)
    assert down.code == 6, down
    assert invoke(*DEPLOY, inventory=trays.inventory).code == 0, "the group is started again as a whole"

    stopped = invoke("stop", inventory=trays.inventory)
    assert stopped.code == 0, stopped
    for host in ("tray1", "tray2"):
        assert "standin" not in on(trays, host, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout


def words_of(trays: Lab, host: str, name: str) -> str:
    record = f"/var/lib/bringup/deployments/{name}/current/record"
    return on(trays, host, f"tr '\\0' ' ' </proc/$(cut -d' ' -f1 {record})/cmdline").stdout


def test_pipeline_stages_over_two_trays(trays: Lab) -> None:
    flags = ("--model", "gpt-oss-120b", "--hosts", "tray1,tray2", "--strategy", "multi_node_tp_pp")
    first = invoke("deploy", *flags, inventory=trays.inventory)
    assert first.code == 0, first
    for rank, host in enumerate(("tray1", "tray2")):
        words = words_of(trays, host, "gpt-oss-120b")
        assert f"--tensor-parallel-size 4 --pipeline-parallel-size 2 --nnodes 2 --node-rank {rank} " in words
        assert "--distributed-executor-backend mp" in words
    assert invoke("status", inventory=trays.inventory).code == 0
    assert invoke("stop", inventory=trays.inventory).code == 0


def test_external_load_balancing_has_an_endpoint_for_every_rank(trays: Lab) -> None:
    flags = ("--model", "gpt-oss-120b", "--hosts", "tray1,tray2", "--load-balancing", "external", "--port", "8100")
    first = invoke("deploy", *flags, inventory=trays.inventory)
    assert first.code == 0, first
    assert all(f":{port}" in first.said for port in range(8100, 8104))
    for start, host in ((0, "tray1"), (4, "tray2")):
        words = words_of(trays, host, "gpt-oss-120b")
        assert f"--data-parallel-multi-port-external-lb --data-parallel-start-rank {start} " in words
    assert invoke("status", inventory=trays.inventory).code == 0
    # One server is gone: vLLM's supervisor ends the host with it, and the group is down.
    killed = 'for at in /proc/[0-9]*; do [ "$(cat $at/comm)" = VLLM::DP2 ] && kill -9 "${at#/proc/}" && echo one; done'
    assert "one" in on(trays, "tray2", f"{killed}; sleep 3").stdout
    down = invoke("status", inventory=trays.inventory)
    assert down.code == 6, down
    stopped = invoke("stop", inventory=trays.inventory)
    assert stopped.code == 0, stopped
    assert "ports 8100, 8101, 8102, 8103, 8104, 13345 free" in stopped.said
