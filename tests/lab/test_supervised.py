"""A supervised deployment on two trays whose first process is systemd: guards are units; then a disk is full."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.lab import faults, lifecycle
from inventory.lab.state import Lab
from launch import lab as labs
from tests.lab.cli import Typed, invoke
from tests.lab.conftest import on

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-supervised"), pytest.mark.timeout(400)]

NAME = "deepseek-v4-pro"
FOLDER = f"/var/lib/bringup/deployments/{NAME}"
GUARD, RANKS = f"bringup-guard-{NAME}.service", f"bringup-{NAME}.service"
DEPLOY = ("deploy", "--model", NAME, "--hosts", "tray1,tray2", "--supervise", "--alert", "tee -a /srv/alerts")
HOSTS = ("tray1", "tray2")
Typing = Callable[..., Typed]


@pytest.fixture(scope="module")
def lab(machine_carries_labs: None) -> Iterator[Lab]:  # noqa: ARG001  (asked first)
    if not Path("/lib/systemd/systemd").exists():
        pytest.skip("no systemd is installed on this machine")
    name = f"supervised-{os.getpid()}"
    yield labs.up(2, "gb200", name=name, systemd=True)
    with suppress(BadInput):
        lifecycle.down(name)


def typed(lab: Lab, *words: str) -> Typed:
    return invoke(*words, inventory=lab.inventory)


def wait_for(lab: Lab, text: str) -> None:
    """Wait for a sentence to the operator's command."""
    until = time.monotonic() + 90
    while text not in on(lab, "tray1", "cat /srv/alerts 2>/dev/null").stdout:
        assert time.monotonic() < until, on(lab, "tray1", f"cat {FOLDER}/current/guard.log").stdout
        time.sleep(0.5)


def kill_ranks(lab: Lab, host: str) -> None:
    assert on(lab, host, f"kill -9 $(cut -d' ' -f1 {FOLDER}/current/record)").returncode == 0


def units(lab: Lab, host: str, question: str) -> list[str]:
    return on(lab, host, f"systemctl {question} {GUARD} {RANKS}").stdout.split()


def failed_units(lab: Lab, host: str) -> str:
    """What whoever watches the host is told."""
    return on(lab, host, "systemctl list-units --failed --no-legend --plain").stdout


def test_a_guard_is_a_unit_of_each_host_and_no_deploy_trips_over_it(lab: Lab) -> None:
    first = typed(lab, *DEPLOY)
    assert first.code == 0, first
    again = typed(lab, *DEPLOY, "--dry-run", "--json")
    assert (again.code, again.data["changes"]) == (0, []), again
    for host in HOSTS:
        assert units(lab, host, "is-active") == ["active", "active"]
        assert units(lab, host, "is-enabled")[0] == "enabled"
        told = json.loads(on(lab, host, f"cat {FOLDER}/current/guard.json").stdout)
        command = on(lab, host, f"cat {FOLDER}/current/command.sh").stdout.split()
        assert told["port"] == int(command[command.index("--data-parallel-rpc-port") + 1]) + 3
        listens = f":{told['port']:04X} 00000000:0000 0A"
        assert listens in on(lab, host, "cat /proc/net/tcp").stdout
        assert on(lab, host, f"systemd-analyze verify /etc/systemd/system/{GUARD}").stderr == ""


def mains(lab: Lab) -> list[list[str]]:
    """The main process of the guard and of the ranks, host by host."""
    show = f"systemctl show --property MainPID --value {GUARD} {RANKS}"
    return [on(lab, host, show).stdout.split() for host in HOSTS]


def test_a_deploy_that_changes_a_guard_alone_shows_and_exchanges_it_and_no_rank_notices(lab: Lab) -> None:
    before = mains(lab)
    other = (*DEPLOY[:-1], "tee --append /srv/alerts")
    planned = typed(lab, *other, "--dry-run", "--json")
    assert planned.code == 8, planned
    assert {one["phase"] for one in planned.data["changes"]} == {"stage"}
    assert [one["id"] for one in planned.data["changes"]].count(f"guard {NAME}") == 2
    assert typed(lab, *other).code == 0
    assert typed(lab, *other, "--dry-run").code == 0
    after = mains(lab)
    assert [one[1] for one in after] == [one[1] for one in before]
    assert not {one[0] for one in after} & {"0", *(one[0] for one in before)}

    plain = typed(lab, *DEPLOY[:5])
    assert plain.code == 0, plain
    for host in HOSTS:
        assert on(lab, host, f"ls /etc/systemd/system/{GUARD} {FOLDER}/current/guard.key").stdout == ""
        assert "guard.py" not in on(lab, host, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
    again = typed(lab, *DEPLOY)
    assert again.code == 0, again
    assert [one[1] for one in mains(lab)] == [one[1] for one in before]
    assert [units(lab, host, "is-active") for host in HOSTS] == [["active", "active"]] * 2


def test_a_host_that_comes_back_is_taken_in_again_with_the_whole_group(lab: Lab) -> None:
    faults.power_off("tray2", lab=lab.name)
    wait_for(lab, "no answer from tray2: the group is left as it is")
    assert units(lab, "tray1", "is-active") == ["active", "active"], "a lone rank is neither stopped nor started"
    faults.power_on("tray2", lab=lab.name)
    wait_for(lab, "ranks are gone on tray2: it was restarted as a group and serves again")
    seen = typed(lab, "status", "--json")
    assert seen.code == 0, seen
    for host in HOSTS:
        assert len(on(lab, host, f"ls {FOLDER}/captures").stdout.split()) == 1


def test_the_next_time_it_is_stopped_and_the_operator_told_also_by_a_guard_that_was_started_anew(lab: Lab) -> None:
    on(lab, "tray2", f"systemctl stop {GUARD}")
    assert "guard: gone on tray2" in typed(lab, "status").said
    assert typed(lab, *DEPLOY).code == 0
    assert "guard: runs on tray1, tray2" in typed(lab, "status").said, "the same deploy starts it"
    on(lab, "tray1", f"systemctl restart {GUARD}")
    kill_ranks(lab, "tray2")
    wait_for(lab, "it was restarted once already; it is stopped now, on all hosts")
    for host in HOSTS:
        assert units(lab, host, "is-active")[1] == "inactive", "what was stopped on purpose has not failed"
        assert failed_units(lab, host) == ""
        assert "lock" not in on(lab, host, "ls /var/lib/bringup").stdout.split()


def test_a_launch_that_failed_leaves_no_failed_unit_and_its_exit_status_is_known(lab: Lab) -> None:
    text = lab.inventory.read_text()
    lab.inventory.write_text(text.replace("defaults:\n", "defaults:\n  env: {BRINGUP_STANDIN_FAIL: oom-at-load@5}\n"))
    failed = typed(lab, *DEPLOY)
    lab.inventory.write_text(text)
    assert failed.code in {5, 6}, "where it is quick, the first look finds it dead"
    for host in HOSTS:
        assert units(lab, host, "is-active") == ["inactive", "inactive"]
        assert failed_units(lab, host) == ""
    kept = on(lab, "tray2", f"cat {FOLDER}/current/unit-ended").stdout.split()
    assert {"Result=exit-code", "ExecMainStatus=1"} <= set(kept), kept
    assert "the main process of tray2 ended with status 1" in typed(lab, "diagnose").out
    assert "exit status 1" in typed(lab, "status").out


def fill(lab: Lab, host: str) -> None:
    """The host's disk becomes hardly larger than what lies on it, and takes no byte more."""
    disk = lab.folder / "hosts" / host / "disk"
    used = subprocess.run(["df", "-k", "--output=used", disk], capture_output=True, text=True, check=True).stdout
    subprocess.run(["mount", "-o", f"remount,size={int(used.split()[-1]) + 512}k", disk], check=True)
    assert on(lab, host, "dd if=/dev/zero of=/var/lib/bringup/.fill bs=4k count=1000").returncode != 0


def test_a_stop_with_a_full_disk_stops_and_proves_it(lab: Lab) -> None:
    again = typed(lab, "rollback")
    assert again.code == 0, again
    fill(lab, "tray2")
    seen = typed(lab, "status")
    assert seen.code == 0, seen
    assert "guard: runs on tray1, tray2" in seen.said
    diagnosed = typed(lab, "diagnose")
    assert diagnosed.code == 0, diagnosed
    assert "tray2" in diagnosed.out + diagnosed.said
    logs = typed(lab, "logs", "--lines", "2")
    assert {line.split()[0] for line in logs.out.splitlines()} == set(HOSTS)
    stopped = typed(lab, "stop")
    assert stopped.code == 0, stopped
    assert failed_units(lab, "tray1") == ""
    for host in HOSTS:
        assert "active" not in units(lab, host, "is-active")
        assert on(lab, host, f"ls /etc/systemd/system/{GUARD}").returncode != 0
        assert "lock" not in on(lab, host, "ls /var/lib/bringup").stdout.split()
        words = on(lab, host, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
        assert "standin" not in words
        assert "guard.py" not in words
