"""`invoke plan` and `invoke deploy --dry-run` on the same two lab hosts: one decides what the other would do."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from inventory.errors import BadInput
from inventory.lab import lifecycle
from inventory.lab.state import Lab
from inventory.quoting import quote, quote_all
from launch import lab as labs
from launch.building.unit import by_option
from tests.lab.cli import invoke

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-plan"), pytest.mark.timeout(300)]

CHOICE = ("--model", "gpt-oss-120b", "--hosts", "tray1,tray2")


@pytest.fixture(scope="module")
def trays(machine_carries_labs: None) -> Iterator[Lab]:  # noqa: ARG001
    name = f"plan-agrees-{os.getpid()}"
    yield labs.up(2, "gb200", name=name)
    with suppress(BadInput):
        lifecycle.down(name)


def test_what_is_planned_is_what_a_deploy_would_write(trays: Lab) -> None:
    plan = invoke("plan", *CHOICE, "--json", inventory=trays.inventory)
    assert plan.code == 0, plan
    assert plan.data["inputs"]["simulated"]
    pending = invoke("deploy", *CHOICE, "--dry-run", "--json", inventory=trays.inventory)
    assert pending.code == 8, pending
    for host in plan.data["hosts"]:
        ours = [one for one in pending.data["changes"] if one["host"] == host["name"]]
        (written,) = (one["script"] for one in ours if one["id"].endswith("/command.sh"))
        command = base64.b64decode(written.partition("<<'END'\n")[2].partition("END\n")[0]).decode()
        for words in by_option(host["argv"]):
            assert quote_all(words) in command
        for key, value in host["env"]:
            assert quote(f"{key}={value}") in command


def test_a_plan_of_unchanged_hosts_is_the_same_to_the_byte(trays: Lab) -> None:
    first, second = (invoke("plan", *CHOICE, "--json", inventory=trays.inventory) for _ in range(2))
    assert first.code == 0, first
    assert first.out == second.out


def test_fewer_nodes_than_hosts_leave_the_others_alone(trays: Lab) -> None:
    words = ("--model", "gpt-oss-120b", "--hosts", "tray1,tray2", "--nodes", "1")
    plan = invoke("plan", *words, "--json", inventory=trays.inventory)
    assert [host["name"] for host in plan.data["hosts"]] == ["tray1"]
    assert [name for name, _ in plan.data["left_out"]] == ["tray2"]
    pending = invoke("deploy", *words, "--dry-run", "--json", inventory=trays.inventory)
    assert pending.code == 8, pending
    assert {one["host"] for one in pending.data["changes"]} == {"tray1"}
