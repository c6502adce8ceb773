"""What belongs to another start, another unit or another request, or was overcome: none of it is the answer."""

from __future__ import annotations

import pytest

from tests.unit.launch.diagnosis.captures import answer, begins, judged, line, traceback, wrapped

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB."
CLOSED = "RuntimeError: [pair.cc:547] Connection closed by peer [10.0.0.2]:3112"
STALE = "OSError: [Errno 116] Stale file handle: '/shared/cache/triton/ab/kernel.json'"
FABRIC = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"
READY = line("10:10:00", "x", process="APIServer", pid=11, level="INFO").replace(
    "x\n", "Application startup complete.\n"
)
TOKENS = "Engine 000: Avg prompt throughput: 8.0 tokens/s, Avg generation throughput: 12.5 tokens/s, Running: 4 reqs"
LOADED = line("10:03:00", "Loading weights took 70.5 seconds", process="Worker_TP0", pid=80, level="INFO")


def serves(at: str) -> str:
    return line(at, TOKENS, process="APIServer", pid=11, level="INFO")


def journal(at: str, who: str, text: str) -> str:
    return "".join(f"Nov 29 {at} tray1 {who}: {one}\n" for one in text.splitlines())


@pytest.mark.parametrize("unit", ["glm5-serve", "bringup-glm5"])
def test_the_end_of_another_unit_is_not_that_of_the_engine(unit: str) -> None:
    """The journal of a whole host."""
    text = journal("10:00:00", "systemd[1]", f"Started {unit}.service - a model.")
    text += journal("10:02:00", "vllm[70]", traceback("10:02:00", OOM))
    text += journal("10:05:00", "systemd[1]", "apt-daily.service: Deactivated successfully.")
    text += journal("10:06:00", "kernel", "eth0: link up")
    assert answer({"tray1/journal.txt": text})[0] == "F-CUDA-OOM"


@pytest.mark.parametrize("name", ["tray1.log.1", "tray1.log.2.gz"])
def test_a_log_that_was_put_aside_is_of_the_start_before(name: str) -> None:
    """A few minutes before, which clocks alone would forgive."""
    before = begins("11:55:00") + traceback("11:57:00", OOM) + wrapped("11:57:01")
    now = begins("12:00:00", pid=900) + traceback("12:01:00", STALE, pid=901)
    assert answer({name: before, "tray1.log": now})[0] == "F-STALE-HANDLE"
    goes_on = line("11:57:30", "it was cut in the middle of a run", level="INFO")
    assert answer({name: before, "tray1.log": goes_on})[0] == "F-CUDA-OOM"


def test_what_failed_before_the_stop_may_stand_behind_it() -> None:
    """Processes write into one log, each when it comes to it; the engine is stopped because a worker failed."""
    stop = line("11:00:03", "[shutdown] EngineCore: trigger received signal=SIGTERM", level="INFO")
    failed = traceback("11:00:01", OOM, process="Worker_TP3", pid=83)
    assert answer({"tray1.log": begins("10:00:00") + READY + stop + failed})[0] == "F-CUDA-OOM"
    late = failed.replace("11:00:01", "11:00:05")
    assert judged({"tray1.log": begins("10:00:00") + READY + stop + late}).answer == "nothing"


@pytest.mark.parametrize(("until", "cause"), [("15:00:00", "F-STALE-HANDLE"), ("10:31:00", "F-XID")])
def test_a_fault_of_hardware_that_the_host_served_behind_is_past(until: str, cause: str) -> None:
    kernel = "Nov 29 10:30:00 tray1 kernel: NVRM: Xid (PCI:0000:9c:00): 94, pid=9, Contained memory error\n"
    text = begins("10:00:00") + READY + serves("10:11:00") + serves(until) + traceback("15:10:00", STALE)
    found = judged({"tray1.log": text, "tray1/kernel.txt": kernel})
    assert found.id == cause
    assert "F-XID" in {one.id for one in (found.first, *found.consequences) if one}


@pytest.mark.parametrize("status", ["401 Client Error: Unauthorized", "429 Client Error: Too Many Requests"])
def test_what_a_request_asked_of_others_is_no_failure_of_the_server(status: str) -> None:
    """A picture that it names, on a host that wants a login."""
    failed = traceback("10:20:00", f"HTTPError: {status} for url: https://img.test/a.png", process="APIServer", pid=11)
    failed = failed.replace("EngineCore failed to start.", "Error in preprocessing prompt inputs")
    text = begins("10:00:00") + READY + serves("10:11:00") + failed
    assert judged({"tray1.log": text + serves("10:21:00")}).answer == "nothing"
    assert judged({"tray1.log": text}).answer == "consequence"
    assert judged({"tray1.log": text + traceback("10:20:20", OOM)}).id == "F-CUDA-OOM"


def test_an_error_that_its_own_process_went_past_is_none() -> None:
    error = line("10:00:20", "Failed to import Triton kernels. Error: x", process="Worker_TP0", pid=80)
    assert judged({"tray1.log": begins("10:00:00") + error + LOADED}).answer == "nothing"
    lost = traceback("10:05:00", CLOSED)
    assert judged({"tray1.log": begins("10:00:00") + error + LOADED + lost}).id == "F-PEER-GONE"
    other = error.replace("Worker_TP0 pid=80", "Worker_TP1 pid=81")
    assert judged({"tray1.log": begins("10:00:00") + other + LOADED}).answer == "unknown"


MISMATCH = "fabric manager NVIDIA GPU driver interface version 580.65.06 don't match with driver version 580.105.08."


@pytest.mark.parametrize("name", ["tray1/journal_fm.txt", "tray1/journal.txt"])
def test_what_the_fabric_manager_said_at_boot_holds(name: str) -> None:
    """Days before the start that fails because of it."""
    said = "Nov 26 06:00:00 tray1 nv-fabricmanager[7]: " + MISMATCH + "\n"
    files = {"tray1.log": begins("10:00:00") + traceback("10:01:00", FABRIC), name: said}
    assert answer(files) == ("F-FM-VERSION", "tray1")
    up = "Nov 28 06:00:00 tray1 systemd[1]: Started nvidia-fabricmanager.service - NVIDIA fabric manager service.\n"
    assert answer({**files, name: said + up})[0] == "F-FABRIC-802"


def test_what_was_overcome_is_told_and_is_no_answer() -> None:
    taken = "[W1129 10:00:20.12 socket.cpp:767] [c10d] The server socket has failed to bind (errno: 98 - EADDRINUSE).\n"
    found = judged({"tray1.log": begins("10:00:00") + taken + READY})
    assert (found.answer, found.first, [one.id for one in found.also]) == ("nothing", None, ["F-EADDRINUSE"])


def test_a_start_that_says_no_more_than_errors_is_one() -> None:
    """`VLLM_LOGGING_LEVEL=WARNING`: the first words of a start are missing."""
    before = traceback("08:00:00", OOM, pid=500) + wrapped("08:00:01").replace("APIServer pid=70", "APIServer pid=499")
    now = line("10:00:00", "Found ulimit of 4096", process="APIServer", pid=900, level="WARNING")
    now += traceback("10:01:00", STALE, pid=901)
    assert answer({"tray1.log": before + now})[0] == "F-STALE-HANDLE"
    beside = before + now + line("10:02:00", "it goes on", pid=500, level="INFO")
    assert answer({"tray1.log": beside.replace("08:00:0", "10:00:0")})[0] == "F-CUDA-OOM"


def test_a_program_that_complained_before_the_engine_began_is_none_of_it() -> None:
    text = "ERROR: pip's dependency resolver does not currently take into account all the packages.\n" + begins(
        "10:00:00"
    )
    assert judged({"tray1.log": text + LOADED}).answer == "nothing"
    assert judged({"tray1.log": text}).answer == "unknown"


@pytest.mark.parametrize("level", ["WARNING", "ERROR"])
def test_what_was_overcome_does_not_make_the_kernel_late(level: str) -> None:
    """Half an hour behind a download that was limited and tried again."""
    limited = line(
        "10:01:00", "429 Client Error: Too Many Requests, retrying", process="Worker_TP0", pid=80, level=level
    )
    pipe = line("10:12:00", "BrokenPipeError: [Errno 32] Broken pipe", process="APIServer", pid=11)
    text = begins("10:00:00") + limited + LOADED + READY + pipe + serves("10:20:00") + traceback("10:31:00", CLOSED)
    kernel = "Nov 29 10:30:58 tray2 kernel: NVRM: Xid (PCI:0000:9c:00): 79, GPU has fallen off the bus.\n"
    assert answer({"tray1.log": text, "tray2/kernel.txt": kernel}) == ("F-XID", "tray2")


@pytest.mark.parametrize(
    ("name", "text", "cause"),
    [
        ("tray1/inspect.json", '[{"State": {"Status": "exited", "OOMKilled": true}}]', "F-HOST-OOM"),
        ("tray1/describe.txt", "    Last State:     Terminated\n      Reason:       OOMKilled", "F-HOST-OOM"),
        ("tray1/dcgmi_health.txt", "GpuDcgmUnresponsive", "F-DRIVER-HUNG"),
        ("tray1/notes.txt", "NVRM: Xid (PCI:0000:9c:00): 79, GPU has fallen off the bus.", "F-PEER-GONE"),
    ],
)
def test_a_state_that_a_command_prints_counts_and_history_does_not(name: str, text: str, cause: str) -> None:
    assert answer({"tray2.log": begins("10:00:00") + traceback("10:05:00", CLOSED), name: text + "\n"})[0] == cause
