from __future__ import annotations

import dataclasses

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import System
from inventory.facts.system import Sent, family_of, is_simulated, os_release, read_system
from tests.answered import Said, answers

HOST: dict[str, Said] = {
    "system.release": 'NAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n',
    "system.kernel": "6.1.0-9-amd64 x86_64\n",
    "system.hostname": "tray1\n",
    "system.boot": "b00t\n",
    "system.user": "ops\n",
    "system.uid": "1000\n",
    "sudo.true": "",
    "system.lab": (1, "cat: /etc/bringup-lab: No such file or directory"),
}
SENT = Sent(at=1800000000.0, received_at=1800000001.5)
FACTS = System(
    id="debian",
    version="12",
    family="debian",
    kernel="6.1.0-9-amd64",
    architecture="x86_64",
    boot_id="b00t",
    hostname="tray1",
    user="ops",
    uid=1000,
    can_sudo=True,
    clock_offset_s=0.0,
)


def read(items: dict[str, Said]) -> System:
    system = read_system(answers(items), SENT)
    assert not isinstance(system, Unknown)
    return system


def test_everything() -> None:
    assert read(HOST) == FACTS


def test_sudo_that_asks_for_a_password_is_none() -> None:
    assert not read({**HOST, "sudo.true": (1, "sudo: a password is required")}).can_sudo
    assert read({**HOST, "sudo.true": (127, "sudo: not found"), "system.uid": "0\n"}).can_sudo


def test_a_sudo_that_hangs_is_no_sudo_and_costs_nothing_else() -> None:
    items = {key: said for key, said in HOST.items() if key != "sudo.true"}
    system = read_system(answers(items, ends={"sudo": 124}), SENT)
    assert system == dataclasses.replace(FACTS, can_sudo=False)


@pytest.mark.parametrize(
    ("begun", "ended", "offset"),
    [
        ("1800000000.25", "1800000001.25", 0.0),  # as the control clock: .25 s on the way each time
        ("1800000010.25", "1800000011.25", 10.0),
        ("1799999990.25", "1799999991.25", -10.0),
        ("1800000000.%N", "1800000001.%N", 0.25),  # whole seconds only, half a second is assumed
    ],
)
def test_clock_offset_leaves_the_scripts_own_time_out(begun: str, ended: str, offset: float) -> None:
    got = answers(HOST)
    changed = dataclasses.replace(got, files={**got.files, "clock.out": f"{begun}\n{ended}\n".encode()})
    system = read_system(changed, SENT)
    assert not isinstance(system, Unknown)
    assert system.clock_offset_s == pytest.approx(offset)


def test_a_host_without_os_release_is_still_known() -> None:
    system = read({**HOST, "system.release": (1, "cat: /usr/lib/os-release: No such file or directory")})
    assert (system.id, system.family, system.kernel) == ("", "other", "6.1.0-9-amd64")


def test_a_lab_host_tells_its_made_up_architecture() -> None:
    lab: dict[str, Said] = {**HOST, "system.lab": "simulated=true\nsysroot=/opt/x\narch=aarch64\n"}
    assert read(lab).architecture == "aarch64"
    assert is_simulated(answers(lab))
    assert not is_simulated(answers(HOST))


def test_a_missing_part_names_itself() -> None:
    system = read_system(answers({**HOST, "system.boot": (1, "cat: boot_id: Permission denied")}), SENT)
    assert system == Unknown(Why.REFUSED, "cat: boot_id: Permission denied")


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("ID=ubuntu\nID_LIKE=debian", "debian"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"', "rhel"),
        ("ID=arch", "other"),
        ("", "other"),
        ('ID="unclosed', "other"),
    ],
)
def test_families(text: str, family: str) -> None:
    assert family_of(os_release(text)) == family
