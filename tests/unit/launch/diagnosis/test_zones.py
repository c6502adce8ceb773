"""A journal that tells a zone beside an engine that tells none."""

from __future__ import annotations

import pytest

from launch.diagnosis.zones import offset_of, offsets
from tests.unit.launch.diagnosis.captures import answer, begins, line, traceback

DIED = "Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor."
KILLED = "tray1 kernel: Out of memory: Killed process 4242 (VLLM::Worker_TP) total-vm:9kB\n"
CLOSED = "RuntimeError: [pair.cc:547] Connection closed by peer [10.0.0.2]:3112"


@pytest.mark.parametrize("zone", ["+02:00", "+0200", "-07:00", "+05:30", "Z"])
@pytest.mark.parametrize("engine", ["as the host", "as a container"])
def test_the_kernel_is_heard_whatever_clock_the_engine_has(zone: str, engine: str) -> None:
    """A container has UTC on a host that has not."""
    at = {"+02:00": "14", "+0200": "14", "-07:00": "05", "+05:30": "17", "Z": "12"}[zone]
    minute = 34 if zone == "+05:30" else 4
    hour, own = (at, minute) if engine == "as the host" else ("12", 4)
    log = begins(f"{hour}:{own - 4:02d}:00") + line(f"{hour}:{own:02d}:41", DIED)
    kernel = f"2026-11-29T{at}:{minute:02d}:39{zone} {KILLED}"
    assert answer({"tray1.log": log, "tray1/kernel.txt": kernel}) == ("F-HOST-OOM", "tray1")


def test_hosts_that_tell_nothing_are_of_the_zone_of_the_others() -> None:
    victim = begins("19:00:00") + traceback("19:20:01", CLOSED)
    kernel = "2026-11-29T19:19:58+09:00 tray2 kernel: NVRM: Xid (PCI:0000:9c:00): 79, GPU has fallen off the bus.\n"
    files = {"tray1.log": victim, "tray2.log": begins("19:00:00"), "tray2/kernel.txt": kernel}
    assert answer(files) == ("F-XID", "tray2")


def test_nothing_is_guessed_where_zones_differ_or_are_missing() -> None:
    bare = line("10:00:00", "x")
    assert offset_of([bare], None) is None
    assert offset_of(["2026-11-29T10:00:00+02:00 a\n2026-11-29T10:00:00+03:00 b\n", bare], None) is None
    assert offsets({"a": [bare], "b": []}, None) == {"a": 0.0, "b": 0.0}


@pytest.mark.parametrize(
    ("at", "cause"), [("18:04:39", "F-HOST-OOM"), ("05:05:00", "F-HOST-OOM"), ("18:24:39", "E-KILLED")]
)
def test_a_kernel_in_local_time_meets_its_echo_whole_hours_away(at: str, cause: str) -> None:
    """`dmesg -T` tells no zone, and the engine runs in a container."""
    log = begins("10:00:00") + line("10:04:41", DIED)
    kernel = f"[Sun Nov 29 {at} 2026] Out of memory: Killed process 4242 (VLLM::Worker_TP) total-vm:9kB\n"
    assert answer({"tray1.log": log, "tray1/dmesg.txt": kernel}) == (cause, "tray1")
    assert answer({"tray1.log": log, "tray2/dmesg.txt": kernel}) == ("E-KILLED", "tray1")
