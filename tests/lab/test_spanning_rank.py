"""One rank over two simulated GB200 trays with the stand-in engine, typed as an operator would."""

from __future__ import annotations

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
    yield labs.up(2, "gb200", name="spanning")
    with suppress(BadInput):  # it never came up
        lifecycle.down("spanning")


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
