"""The one host that knows why, among victims that write more, wrappers that come first, and clocks minutes apart."""

from __future__ import annotations

import pytest

from tests.unit.launch.diagnosis.captures import begins, judged, line, traceback, wrapped

CLOSED = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.0.0.2]:3112"
NOISE = "".join(
    line("10:00:10", text, level="WARNING")
    for text in (
        "Found ulimit of 1024 and failed to automatically increase. This can cause errors like `Too many open files`.",
        "custom_all_reduce is disabled because it is not supported on more than two PCIe-only GPUs",
        "No fused moe config file found for E=256, using default. Performance might be sub-optimal!",
    )
)
WATCHDOG = (
    "[rank0]:[W1129 10:05:09.1 ProcessGroupNCCL.cpp:1783] [PG ID 0 PG GUID 0 Rank 0] Failed to check the"
    ' "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe\n'
)
VICTIM = begins("10:00:00") + NOISE + wrapped("10:05:02") + traceback("10:05:03", CLOSED) + WATCHDOG
SEGFAULT = "VLLM::Worker_TP[4242]: segfault at 10 ip 00007f33 sp 00007ffe error 4 in libnccl.so.2.28.3[7f33+1000]"
AHEAD = "tray1 0.0 true\ntray2 245.0 false\n"


def journal(*said: tuple[str, str, str]) -> str:
    started = ("10:00:00", "systemd[1]", "Started bringup deployment x generation 1.")
    return "".join(f"Nov 29 {at} tray2 {who}: {text}\n" for at, who, text in (started, *said))


def kernel(at: str, text: str, host: str = "tray2") -> str:
    return f"Nov 29 {at} {host} kernel: {text}\n"


CAPTURES = {
    "a cache on NFS, by a clock that is four minutes ahead": (
        "F-STALE-HANDLE",
        {
            "tray2.log": begins("10:04:00")
            + traceback("10:09:00", "OSError: [Errno 16] Device or resource busy: '/h/.triton/cache/ab/.nfs0012'")
            + wrapped("10:09:01"),
            "offsets.tsv": AHEAD,
        },
    ),
    "a container that never began": (
        "F-DOCKER-GPU",
        {
            "tray2/journal_unit.txt": journal(
                ("10:00:03", "docker[9]", "nvidia-container-cli: initialization error: load library failed: libcuda"),
                ("10:00:04", "systemd[1]", "bringup-x.service: Main process exited, code=exited, status=127/n/a"),
            )
        },
    ),
    "killed from user space": (
        "F-HOST-OOM",
        {
            "tray2/journal_unit.txt": journal(
                ("10:04:55", "systemd-oomd[612]", "Killed /system.slice/bringup-x.service due to memory used (134) /"),
                ("10:04:56", "systemd[1]", "bringup-x.service: systemd-oomd killed 12 process(es) in this unit."),
            )
        },
    ),
    "a crash of which only the kernel tells": (
        "E-SEGFAULT",
        {
            "tray2.log": begins("10:00:00")
            + line("10:04:59", "Worker proc VllmWorker-0 died unexpectedly (exit code: -11), shutting down executor."),
            "tray2/kernel.txt": kernel("10:04:58", SEGFAULT),
        },
    ),
    "a hang inside the driver of a host that says nothing": (
        "F-DRIVER-HUNG",
        {
            "tray2.log": begins("10:00:00") + line("10:01:00", "Starting to load model /m...", level="INFO"),
            "tray2/kernel.txt": kernel("10:04:30", "INFO: task VLLM::Worker_TP:98 blocked for more than 241 seconds."),
        },
    ),
    "a GPU of AMD that was reset": (
        "E-AMDGPU-RESET",
        {
            "tray2.log": begins("10:00:00"),
            "tray2/kernel.txt": kernel("10:04:57", "amdgpu 0000:05:00.0: amdgpu: GPU reset begin!"),
        },
    ),
    "shared memory, which is not the disk": (
        "F-SHM",
        {
            "tray2.log": begins("10:00:00")
            + traceback("10:04:57", "RuntimeError: unable to write to file </torch_501_3_0>: No space left on device")
        },
    ),
}


@pytest.mark.parametrize("name", CAPTURES)
def test_the_one_that_knows_is_heard(name: str) -> None:
    cause, files = CAPTURES[name]
    found = judged({"tray1.log": VICTIM, "tray3.log": VICTIM.replace("10:05", "10:06"), **files})
    assert (found.id, found.first and found.first.host) == (cause, "tray2")


def test_a_crash_behind_the_end_of_a_peer_is_how_a_rank_goes_down() -> None:
    found = judged({"tray1.log": VICTIM, "tray1/kernel.txt": kernel("10:05:08", SEGFAULT, "tray1")})
    assert (found.answer, found.id) == ("consequence", "F-PEER-GONE")


def test_the_host_whose_unit_ended_before_is_where_to_look() -> None:
    """It tells nothing but a status, and the others nothing but that it is gone."""
    failed = ("10:00:01", "systemd[1]", "bringup-x.service: Main process exited, code=exited, status=203/EXEC")
    found = judged({"tray1.log": VICTIM, "tray2/journal_unit.txt": journal(failed)})
    assert (found.answer, found.id) == ("consequence", "F-PEER-GONE")
    assert "tray2 ended before: look there first" in found.why
