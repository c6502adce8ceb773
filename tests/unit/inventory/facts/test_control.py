from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.control import lock_holder, parse_agent_keys, read_lock_holder, read_way, with_control
from inventory.facts.host import Way
from inventory.schema import Host
from inventory.transport.connect import choose
from inventory.transport.local import LocalTransport
from tests.answered import Said, answers

CONFIG = """\
Host tray1
    HostName 192.0.2.11
    ProxyJump bastion.example:2222
    User ops
    IdentitiesOnly yes
    ControlPath /run/cm/%C
"""


def test_the_way_to_a_host_is_part_of_its_answer(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(CONFIG)
    transport = choose(Host(name="tray1", ssh_config=str(config)))
    transport.dropped_logins = 2
    way = read_way(with_control(answers({"host.load": ""}), transport))
    assert isinstance(way, Way)
    assert (way.target, way.hostname, way.user, way.port) == ("tray1", "192.0.2.11", "ops", 22)
    assert way.jumps == (f"{way.jumps[0].partition('@')[0]}@bastion.example:2222",)
    assert way.identities_only
    assert way.dropped_logins == 2
    assert way.control_path is not None
    assert way.control_path.startswith("/run/cm/")
    assert len(way.control_path) == len("/run/cm/") + 40, "expanded"


def test_this_machine_is_reached_without_ssh() -> None:
    told = with_control(answers({"host.load": ""}), LocalTransport("here"))
    way = read_way(told)
    assert isinstance(way, Unknown)
    assert way.why is Why.NOT_ASKED
    assert read_lock_holder(told) == ""


def test_an_answer_of_an_older_bundle_tells_no_way() -> None:
    assert isinstance(read_way(answers({"host.load": ""})), Unknown)
    assert isinstance(read_lock_holder(answers({"host.load": ""})), Unknown)


def test_a_damaged_answer_is_not_mended() -> None:
    damaged = replace(answers({"host.load": ""}), fault="cut off")
    assert with_control(damaged, LocalTransport("here")) is damaged


def owner(**changes: object) -> dict[str, Said]:
    machine = Path("/etc/machine-id")
    told = {
        "control": os.uname().nodename,
        "machine_id": machine.read_text().strip() if machine.exists() else "",
        "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "pid": os.getpid(),
        "started": psutil.Process().create_time(),
        **changes,
    }
    return {"host.lock": json.dumps(told)}


@pytest.mark.parametrize(
    ("changes", "holder"),
    [
        ({}, "ours"),
        ({"pid": os.getppid(), "started": psutil.Process(os.getppid()).create_time()}, "alive"),
        ({"boot_id": "of another boot"}, "gone"),
        ({"started": 12.0}, "gone"),
        ({"pid": 4_194_305}, "gone"),
        ({"pid": "?"}, "gone"),
        ({"control": "another-machine"}, "elsewhere"),
        ({"machine_id": "a-clone-with-my-name"}, "elsewhere"),
    ],
)
def test_who_holds_the_lock(changes: dict[str, object], holder: str) -> None:
    assert lock_holder(answers(owner(**changes))) == holder


def test_a_lock_that_cannot_be_read_is_somebodys() -> None:
    assert lock_holder(answers({"host.lock": "garbage"})) == "elsewhere"
    assert lock_holder(answers({"host.lock": (1, "No such file or directory")})) == ""


def test_keys_of_an_agent() -> None:
    assert parse_agent_keys("256 SHA256:abc ops@desk (ED25519)\n3072 SHA256:def x (RSA)\n") == 2
    assert parse_agent_keys("The agent has no identities.\n") == 0
