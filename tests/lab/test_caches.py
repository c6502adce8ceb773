"""What a start compiled, on two simulated trays: cold, then warm on every rank, then poisoned."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from inventory.errors import BadInput
from inventory.lab import lifecycle
from inventory.lab.state import Lab
from launch import lab as labs
from tests.lab.cli import Typed, invoke
from tests.lab.conftest import on

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-caches"), pytest.mark.timeout(300)]

FIND = "find /var/lib/bringup/caches/[0-9a-f]* -path '*torch_aot_compile*' -name model | grep -o 'rank_.*/' | sort -V"
RANKS = [f"rank_0_{dp}/" for dp in range(8)]


@pytest.fixture
def trays(machine_carries_labs: None) -> Iterator[Lab]:  # noqa: ARG001
    name = f"caches-{os.getpid()}"
    yield labs.up(2, "gb200", name=name)
    with suppress(BadInput):
        lifecycle.down(name)


def deploy(lab: Lab) -> Typed:
    done = invoke("deploy", "--model", "deepseek-v4-pro", "--hosts", "tray1,tray2", inventory=lab.inventory)
    assert done.code == 0, done
    return done


def stop(lab: Lab) -> None:
    done = invoke("stop", inventory=lab.inventory)
    assert done.code == 0, done


def compiled(lab: Lab, host: str) -> list[str]:
    return on(lab, host, FIND).stdout.split()


def test_cold_then_warm_on_every_rank_then_poisoned_and_put_aside_once(trays: Lab) -> None:
    cold = deploy(trays)
    assert "compiled code was found for 0 of 8 rank(s)" in cold.said
    assert "are ready for the next start" in cold.said
    assert compiled(trays, "tray2") == RANKS[4:], "what runs is left alone"
    stop(trays)

    warm = deploy(trays)
    assert "compiled code was found for all 8 rank(s)" in warm.said
    assert "every host has the caches of all ranks" in warm.said
    assert compiled(trays, "tray1") == compiled(trays, "tray2") == RANKS
    stop(trays)

    on(
        trays,
        "tray2",
        "for m in $(find /var/lib/bringup/caches/[0-9a-f]* -path '*rank_0_5/model'); do echo poisoned >$m; done",
    )
    mended = deploy(trays)
    assert "its log blames what it found in its caches" in mended.said
    assert "caches are out of the way: aside /var/lib/bringup/caches/.poisoned/" in mended.said
    assert "compiled code was found for 0 of 8 rank(s)" in mended.said
    assert on(trays, "tray1", "ls /var/lib/bringup/caches/.poisoned").stdout == "", "it served: they have had their use"

    on(trays, "tray1", "mkdir -p /var/lib/bringup/caches/0123456789ab/vllm")
    shown = invoke("weights.gc", "--hosts", "tray1", "--dry-run", "--json", inventory=trays.inventory)
    caches = {one["caches"]: one for one in shown.data if "caches" in one}
    assert caches.pop("0123456789ab")["kept_because"] == [], "no generation has ever named it"
    assert all(one["used_by"] for one in caches.values())
    assert caches, "what runs is among them"


def test_weights_that_a_daemon_holds_outlive_the_engine(trays: Lab) -> None:
    typed = ("--model", "deepseek-v4-pro", "--hosts", "tray1,tray2")
    held = invoke("preload", *typed, inventory=trays.inventory)
    assert held.code == 0, held
    assert "deepseek-v4-pro-weights is up" in held.said
    first = invoke("deploy", *typed, "--weights-from", "daemon", inventory=trays.inventory)
    assert first.code == 0, first
    log = "/var/lib/bringup/deployments/deepseek-v4-pro/current/log"
    assert "Mapped the weights of a weight cache daemon (SIMULATED)" in on(trays, "tray2", f"cat {log}").stdout
    stopped = invoke("stop", "--name", "deepseek-v4-pro", inventory=trays.inventory)
    assert stopped.code == 0, stopped
    again = invoke("preload", *typed, "--dry-run", inventory=trays.inventory)
    assert again.code == 0, "it still runs as planned"
    gone = invoke("stop", "--name", "deepseek-v4-pro-weights", inventory=trays.inventory)
    assert gone.code == 0, gone
    failed = invoke("deploy", *typed, "--weights-from", "daemon", inventory=trays.inventory)
    assert failed.code == 6, failed
    assert "no weight cache daemon at" in failed.said
