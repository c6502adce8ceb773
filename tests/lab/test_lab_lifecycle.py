"""Labs come up, and nothing of them is left: looked for in the kernel's own lists, before and after."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inventory.errors import BadInput, ChangeFailed
from inventory.lab import boot, lifecycle, state
from inventory.lab.lifecycle import Equipment
from inventory.lab.state import Lab
from tests.lab.conftest import MakeLab, on

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("machine_carries_labs")]
ROOT = Path(__file__).resolve().parents[2]


def namespaces_of(lab: Lab) -> set[str]:
    """Every namespace that the lab made: its switch's, and those in which its hosts' first processes are."""
    own = {str(path.readlink()) for path in Path("/proc/self/ns").iterdir()}
    found = {f"net:[{lab.switch.stat().st_ino}]"}
    for _, pid in boot.running(lab, lab.hosts):
        found |= {str(path.readlink()) for path in Path(f"/proc/{pid.number}/ns").iterdir()}
    return found - own


def processes_in(namespaces: set[str]) -> set[int]:
    found = set()
    for link in Path("/proc").glob("[0-9]*/ns/*"):
        try:
            if str(link.readlink()) in namespaces:
                found.add(int(link.parts[2]))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def traces_of(name: str, leg: int = 0) -> list[str]:
    """What this machine shows of a lab: mounts, its interface, files, and programs that were given its paths.

    `leg` is the number of its interface: another lab may have taken the name meanwhile.
    """
    folder = f"{state.root()}/{name}"
    found = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f" {folder}/" in line]
    found += [name for number, name in socket.if_nameindex() if number == leg]
    found += [folder] if Path(folder).exists() else []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += [f"{path}: {words}"] if any(word.startswith(f"{folder}/".encode()) for word in words) else []
    return found


def test_up_and_down_leave_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(2, "gb200")
    assert on(lab, "tray1", "setsid sleep 300 >/dev/null 2>&1 </dev/null & echo started").stdout == "started\n"
    inside = namespaces_of(lab)
    assert len(inside) >= 1 + 2 * 5  # the switch; mount, UTS, IPC, PID and network of both hosts
    assert len(processes_in(inside)) >= 5  # two first processes, two sshd, one sleep
    leg = socket.if_nametoindex(lab.leg)
    assert traces_of(lab.name, leg)

    said = lifecycle.down(lab.name)
    assert "2 running hosts" in said
    assert processes_in(inside) == set()
    assert traces_of(lab.name, leg) == []
    with pytest.raises(BadInput, match="no lab named"):
        lifecycle.down(lab.name)


def test_two_hosts_are_up_in_a_second_and_down_in_one(make_lab: MakeLab) -> None:
    """Processor time of this process and its children: what the clock says depends on who else is busy."""
    before = time.monotonic(), os.times()
    lab = make_lab(2, "gb200")
    lifecycle.down(lab.name)
    after = os.times()
    spent = sum(after[:4]) - sum(before[1][:4])
    assert spent < 2.0
    assert time.monotonic() - before[0] < 20


def test_a_lab_that_is_up_is_not_made_again(make_lab: MakeLab) -> None:
    lab = make_lab(1)
    with pytest.raises(BadInput, match="up already") as refused:
        lifecycle.up(1, name=lab.name)
    assert refused.value.next_command == "invoke lab.down"
    assert on(lab, "tray1", "hostname").stdout == "tray1\n"


def test_labs_side_by_side_do_not_meet(make_lab: MakeLab) -> None:
    one, two = make_lab(2), make_lab(2)
    assert set(one.networks) & set(two.networks) == set()
    assert on(two, "tray1", "cat /etc/bringup-lab").stdout.splitlines()[0] == f"lab={two.name}"
    other = one.hosts[0].control
    reached = on(two, "tray1", f"timeout 3 bash -c '</dev/tcp/{other}/22' 2>&1; echo $?").stdout
    assert reached.splitlines()[-1] != "0"
    lifecycle.down(one.name)
    assert on(two, "tray2", "hostname").stdout == "tray2\n"
    assert {lab.name: on_ for lab, on_ in lifecycle.labs()}[two.name] == ("tray1", "tray2")


def test_a_boot_that_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    name = f"test-{os.getpid()}-fails"
    gone = Equipment(extra_environments={"digest": tmp_path / "not-there"})
    with pytest.raises(ChangeFailed, match="did not boot") as failed:
        lifecycle.up(2, name=name, equipment=gone)
    assert "not-there" in failed.value.observed
    assert traces_of(name) == []
    assert name not in state.names()


def test_no_time_to_boot_leaves_nothing() -> None:
    name = f"test-{os.getpid()}-late"
    with pytest.raises(ChangeFailed, match="did not boot"):
        lifecycle.up(2, name=name, timeout_s=0)
    assert traces_of(name) == []


@pytest.mark.parametrize("after_s", [0.1, 0.25, 0.4, 0.6])
def test_what_a_killed_up_left_is_taken_down_by_another_process(after_s: float) -> None:
    name = f"test-{os.getpid()}-killed"
    script = f"from inventory.lab import lifecycle; print('go', flush=True); lifecycle.up(4, 'gb200', name={name!r})"
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(after_s)
        running.send_signal(signal.SIGKILL)
    if name in state.names():
        lab = state.load(name)
        inside = namespaces_of(lab) if lab.switch.exists() else set()
        lifecycle.down(name)
        _until(lambda: processes_in(inside) == set())
    _until(lambda: traces_of(name) == [])


def _until(true: Callable[[], bool], timeout_s: float = 10) -> None:
    """A host whose maker died ends by itself, a moment later."""
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_files_of_a_lab_before_a_reboot_of_the_machine_are_in_nobodys_way(make_lab: MakeLab) -> None:
    lab = make_lab(1)
    lifecycle.down(lab.name)
    lab.folder.mkdir(parents=True)
    record = f'"boot_id": "{lab.boot_id}"'
    state.save(lab)
    path = lab.folder / "lab.json"
    path.write_text(path.read_text().replace(record, '"boot_id": "earlier"'))
    again = lifecycle.up(1, name=lab.name)
    assert on(again, "tray1", "hostname").stdout == "tray1\n"
