"""Captures that lead astray: who looks at the newest line, the head's log or the clock on the wall answers wrongly."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from launch.diagnosis.replay import host_of, load
from launch.diagnosis.run import from_folder
from tests.unit.launch.diagnosis.captures import answer, begins, judged, line, traceback, wrapped

LOGS = Path(__file__).parents[3] / "fixtures/logs"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB."
LOOPBACK = "RuntimeError: Gloo connectFullMesh failed with [pair.cc:152] Connection refused, remote=[127.0.1.1]:4"
CLOSED = "RuntimeError: [pair.cc:547] Connection closed by peer [10.0.0.2]:3112"
ILLEGAL = "torch.AcceleratorError: CUDA error: unspecified launch failure"
KERNEL = "Nov 29 {} tray2 kernel: NVRM: Xid (PCI:0000:9c:00): 79, pid=911, GPU has fallen off the bus.\n"


def test_an_error_of_the_start_before_does_not_answer() -> None:
    before = begins("10:00:00") + traceback("10:01:00", OOM) + wrapped("10:01:02")
    now = begins("12:00:00", pid=900) + traceback("12:01:00", LOOPBACK, pid=901) + wrapped("12:01:02")
    assert answer({"tray1.log": before + now}) == ("F-GLOO-LOOPBACK", "tray1")


def test_servers_side_by_side_are_one_start() -> None:
    """External load balancing: several servers on one host begin one after the other, and all of them go on."""
    text = begins("10:00:00", pid=11) + line("10:00:05", "one", process="APIServer", pid=11, level="INFO")
    text += traceback("10:00:06", OOM, process="EngineCore_DP0", pid=12)
    text += begins("10:00:07", pid=21) + line("10:00:09", "still there", process="APIServer", pid=11, level="INFO")
    text += traceback("10:00:20", LOOPBACK, process="EngineCore_DP1", pid=22)
    assert answer({"tray1.log": text}) == ("F-CUDA-OOM", "tray1")


def test_the_journal_tells_where_a_start_begins() -> None:
    head = "Nov 29 {} tray1 {}: {}\n".format
    text = head("10:00:00", "systemd[1]", "Started bringup deployment x generation 1.")
    text += head("10:00:05", "sh[77]", OOM)
    text += head("10:00:06", "systemd[1]", "bringup-x.service: Main process exited, code=exited, status=1/FAILURE")
    text += head("11:00:00", "systemd[1]", "Started bringup deployment x generation 1.")
    text += head("11:00:05", "sh[99]", "set_mempolicy: Operation not permitted")
    assert answer({"tray1/journal_unit.txt": text}) == ("F-NUMA-EXIT1", "tray1")


@pytest.mark.parametrize("ahead", [-300.0, 0.0, 300.0])
def test_the_earlier_cause_wins_by_corrected_clocks(ahead: float) -> None:
    """By its own clock tray2 failed two minutes later; with its clock five minutes ahead it was first."""
    files = {
        "tray1.log": traceback("10:00:00", LOOPBACK),
        "tray2.log": traceback("10:02:00", OOM),
        "offsets.tsv": f"tray1\t0.0\ttrue\ntray2\t{ahead}\tfalse\n",
    }
    assert answer(files)[0] == ("F-CUDA-OOM" if ahead > 0 else "F-GLOO-LOOPBACK")


def test_the_kernel_beats_a_traceback_of_the_same_minute() -> None:
    files = {"tray1.log": traceback("10:00:00", OOM), "tray2/kernel.txt": KERNEL.format("10:00:40")}
    found = judged(files)
    assert (found.id, found.first and found.first.host) == ("F-XID", "tray2")
    assert [one.id for one in found.also] == ["F-CUDA-OOM"]


def test_a_kernel_error_long_behind_the_failure_is_a_consequence() -> None:
    files = {"tray1.log": traceback("10:00:00", OOM), "tray2/kernel.txt": KERNEL.format("10:09:00")}
    found = judged(files)
    assert found.id == "F-CUDA-OOM"
    assert [one.id for one in found.consequences] == ["F-XID"]


@pytest.mark.parametrize(("offsets", "id"), [("", "F-XID"), ("tray1 0 true\ntray2 0 true\n", "F-PEER-GONE")])
def test_victims_whose_clocks_nobody_compared_make_no_kernel_late(offsets: str, id: str) -> None:  # noqa: A002
    """Two minutes and more by the clocks as they are."""
    files = {
        "tray1.log": begins("09:00:00") + traceback("10:00:00", CLOSED),
        "tray2/kernel.txt": KERNEL.format("10:03:00"),
    }
    assert judged({**files, **({"offsets.tsv": offsets} if offsets else {})}).id == id
    own = {**files, "tray2.log": begins("09:00:00") + traceback("10:00:00", CLOSED)}
    assert judged(own).id == "F-PEER-GONE"


def test_a_kernel_error_of_another_day_is_not_the_answer() -> None:
    kernel = "Nov 21 08:00:00 tray1 kernel: NVRM: Xid (PCI:0000:9c:00): 48, pid=9, DBE\n"
    assert answer({"tray1/log": begins("10:00:00") + traceback("10:01:00", OOM), "tray1/kernel.txt": kernel})[0] == (
        "F-CUDA-OOM"
    )


def test_a_device_that_fails_behind_the_end_of_a_peer_is_a_consequence() -> None:
    text = begins("10:00:00") + traceback("10:05:00", CLOSED) + traceback("10:05:02", ILLEGAL, process="Worker_TP1")
    found = judged({"tray1.log": text})
    assert (found.answer, found.id, found.confidence) == ("consequence", "F-PEER-GONE", "low")


def test_a_victim_alone_is_told_as_one() -> None:
    found = judged({"tray1.log": begins("10:00:00") + traceback("10:05:00", CLOSED) + wrapped("10:05:03")})
    assert (found.answer, found.confidence) == ("consequence", "low")
    assert "not in these logs" in found.why


def test_an_error_that_no_table_knows_is_told_with_its_lines() -> None:
    text = begins("10:00:00") + traceback("10:05:00", "KeyError: 'model.layers.9.mlp.gate'") + wrapped("10:05:03")
    found = judged({"tray1.log": text, "tray2.log": begins("10:00:00") + traceback("10:05:02", CLOSED)})
    assert (found.answer, found.id, found.first) == ("unknown", "unknown", None)
    assert "KeyError: 'model.layers.9.mlp.gate'" in found.errors[0].text
    assert {one.id for one in found.consequences} == {"F-CORE-INIT-OUTER", "F-PEER-GONE"}


def test_what_is_said_while_it_is_stopped_is_no_failure() -> None:
    text = begins("10:00:00") + "INFO:     Application startup complete.\n"
    text += line("11:00:00", "[shutdown] EngineCore: trigger received signal=SIGTERM", level="INFO")
    text += traceback("11:00:01", "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.")
    assert judged({"tray1.log": text}).answer == "nothing"


def test_a_rank_that_went_silent_is_a_finding() -> None:
    loads = line("10:00:30", "Starting to load model /m...", process="Worker_TP0", level="INFO")
    waits = "".join(
        line(f"10:{minute:02d}:00", "Waiting for READY message from DP Coordinator...", level="INFO")
        for minute in range(1, 20)
    )
    ps = "PID PPID USER STAT ELAPSED %CPU RSS WCHAN COMMAND\n80 1 svc Rl 900 99.8 1 - VLLM::Worker_TP0\n"
    files = {"tray1/log": begins("10:00:00") + waits, "tray2/log": begins("10:00:00") + loads, "tray2/ps.txt": ps}
    found = judged(files)
    assert (found.answer, [one.host for one in found.silent]) == ("silence", ["tray2"])
    assert found.silent[0].phase == "loading weights"
    assert found.silent[0].for_s == pytest.approx(1110)
    assert found.silent[0].state == "VLLM::Worker_TP0 (pid 80) Rl 99.8 % CPU"


def test_a_hang_right_behind_nccl() -> None:
    nccl = line("10:00:30", "vLLM is using nccl==2.28.3", process="Worker_TP0", pid=80, level="INFO")
    waits = line("10:02:30", "No available shared memory broadcast block found in 60 seconds.", level="INFO")
    assert answer({"tray1.log": begins("10:00:00") + nccl + waits * 3}) == ("F-NCCL-STUCK-INIT", "tray1")
    more = line("10:01:00", "Starting to load model /m...", process="Worker_TP0", pid=80, level="INFO")
    assert answer({"tray1.log": begins("10:00:00") + nccl + more})[0] != "F-NCCL-STUCK-INIT"


@pytest.mark.parametrize(("ready", "severity"), [(False, "info"), (True, "error")])
def test_waiting_for_a_worker_is_a_hang_only_when_it_was_ready(ready: bool, severity: str) -> None:  # noqa: FBT001
    text = begins("10:00:00") + ("INFO:     Application startup complete.\n" if ready else "")
    text += line("11:00:00", "No available shared memory broadcast block found in 60 seconds.", level="INFO")
    found = judged({"tray1.log": text}).first
    assert found is not None
    assert (found.id, found.severity) == ("F-SHM-BROADCAST", severity)


def test_killed_for_memory_explains_a_missing_traceback() -> None:
    died = line("10:05:00", "Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor.")
    kernel = "[ 5000.123456] Out of memory: Killed process 4242 (VLLM::Worker_TP0) total-vm:9kB, anon-rss:8kB\n"
    found = judged({"tray1/log": begins("10:00:00") + died + wrapped("10:05:01"), "tray1/kernel.txt": kernel})
    assert found.id == "F-HOST-OOM"
    assert judged({"tray1/log": begins("10:00:00") + died}).id == "E-KILLED"


def test_a_log_that_is_cut_in_the_middle_of_everything() -> None:
    text = begins("10:00:00") + traceback("10:01:00", OOM)
    for at in range(0, len(text), 37):
        assert judged({"tray1.log": text[at:]}).id in {"F-CUDA-OOM", "unknown"} or at > text.rindex("OutOfMemory")
        judged({"tray1.log": text[: len(text) - at]})


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("tray1.log.gz", gzip.compress(traceback("10:01:00", OOM).encode())),
        ("tray1.log", traceback("10:01:00", OOM).replace("raise it", "raise \xe9\xff").encode("latin-1")),
        ("tray1.log", traceback("10:01:00", OOM).encode("utf-16")),
        ("tray1.log", traceback("10:01:00", OOM).replace("\n", "\r\n").encode()),
        ("tray1/logs/rank0.log", traceback("10:01:00", OOM).encode()),
        ("logs/tray1-rank3.log", traceback("10:01:00", OOM).encode()),
        ("tray1/stdout.txt.gz", gzip.compress(traceback("10:01:00", OOM).encode())[:-9]),
    ],
)
def test_files_of_all_forms_are_read(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    (tmp_path / "outside").symlink_to("/etc/passwd")
    _, found = from_folder(tmp_path)
    assert (found.id, found.first and found.first.host) == ("F-CUDA-OOM", "tray1")


REAL = {
    "unknown-option": "argparse_unknown",
    "cache-too-small": "kv_none",
    "wrong-interface-follower": "gloo_ifname",
    "follower-head-absent": "handshake_timeout",
    "port-busy": "port_inuse",
    "not-headless-head": "must_headless",
    "head-stale-follower": "local_remote",
    "no-such-model": "F-MODEL-PATH",
    "length-too-long": "max_len",
    "first-request-fails": "unknown",
    "single-ready-then-stopped": "nothing",
    "internal-head-stopped": "nothing",
    "hybrid-first": "nothing",
}


@pytest.mark.parametrize("name", REAL)
def test_real_logs_of_the_engine(name: str) -> None:
    found = judged({"tray1.log": (LOGS / f"{name}.log").read_text(encoding="utf-8")})
    told = {found.first.id.replace("E-", "F-"), found.first.message} if found.first else {found.id}
    assert REAL[name] in told, found.first


def test_the_two_logs_of_a_wrong_interface() -> None:
    files = {
        f"tray{at}.log": (LOGS / f"wrong-interface-{who}.log").read_text() for at, who in ((1, "head"), (2, "follower"))
    }
    found = judged(files)
    assert (found.id, found.first and found.first.host, found.first and found.first.ranks) == (
        "F-IFACE-NOADDR",
        "tray2",
        (1,),
    )


def test_an_empty_folder_and_none_are_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(Exception, match="is no capture"):
            load(place)


READY = line("10:10:00", "x", process="APIServer", pid=11, level="INFO").replace(
    "x\n", "Application startup complete.\n"
)
DIED = line("12:05:00", "Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor.")


def test_what_came_before_ready_was_overcome() -> None:
    """A download was limited and tried again; hours later something else ended the engine."""
    limited = line("10:01:00", "429 Client Error: Too Many Requests for url: x", level="WARNING")
    text = begins("10:00:00") + limited + traceback("10:02:00", "KeyError: 'x'") + READY
    assert judged({"tray1.log": text}).answer in {"nothing", "known"}
    assert judged({"tray1.log": text + DIED}).id == "E-KILLED"
    follower = begins("10:00:00", pid=40) + limited + line("12:00:00", "alive", level="INFO")
    assert judged({"tray1.log": begins("10:00:00") + READY + DIED, "tray2.log": follower}).id == "E-KILLED"


@pytest.mark.parametrize(
    "prefix", ["vllm-1  | ", "[pod/vllm-0/vllm] ", "[1,3]<stderr>:", "[default3]:", " 3: ", "tray1: ", "\x1b[36m"]
)
def test_what_runs_many_processes_writes_before_their_lines(prefix: str) -> None:
    text = "".join(f"{prefix}{one}\n" for one in traceback("10:01:00", OOM).splitlines())
    found = judged({"tray1.log": text})
    assert (found.id, found.first and found.first.ranks, found.first and found.first.at is not None) == (
        "F-CUDA-OOM",
        (0,),
        True,
    )


def test_a_logger_that_writes_json() -> None:
    text = json.dumps({"levelname": "ERROR", "asctime": "2026-11-29 10:00:00", "message": OOM}) + "\n"
    assert judged({"tray1.log": text}).id == "F-CUDA-OOM"


def test_other_services_of_the_host_are_not_the_engine() -> None:
    journal = "Nov 29 10:00:00 tray1 nginx[9]: accept4() failed (24: Too many open files)\n"
    assert judged({"tray1/journal.txt": journal}).answer == "nothing"
    assert judged({"tray1/journal.txt": journal.replace("nginx", "vllm")}).id == "F-NOFILE"


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("gpu-node-1.log", "gpu-node-1"),
        ("tray1-rank3.log", "tray1"),
        ("tray1_kernel.txt", "tray1"),
        ("dmesg_tray1.txt", "tray1"),
        ("worker-2.log", "worker-2"),
        ("tray1/logs/a.log", "tray1"),
        ("notes.txt", ""),
    ],
)
def test_whose_a_file_is(name: str, host: str) -> None:
    assert host_of(name, {"tray1"}) == host


def test_the_reason_of_a_refused_configuration_is_told() -> None:
    text = "pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n"
    text += "  Value error, two options contradict each other [type=value_error]\n    For further information visit x\n"
    found = judged({"tray1.log": text}).first
    assert found is not None
    assert found.details == ("Value error, two options contradict each other [type=value_error]",)


def test_the_host_that_tells_nothing_is_where_to_look() -> None:
    found = judged({"tray1.log": begins("10:00:00") + traceback("10:05:00", CLOSED), "tray2.log": begins("10:00:00")})
    assert "tray2 tells no error" in found.why


def test_the_year_turns_between_two_lines() -> None:
    files = {
        "tray1.log": f"(EngineCore pid=9) ERROR 12-31 23:59:58 [c.py:1] {OOM}\n",
        "tray2.log": f"(EngineCore pid=9) ERROR 01-01 00:00:05 [c.py:1] {LOOPBACK}\n",
    }
    assert answer(files) == ("F-CUDA-OOM", "tray1")


def test_what_the_kernel_killed_before_the_start_is_past_but_a_broken_gpu_stays_broken() -> None:
    text = begins("10:30:00") + traceback("10:35:00", LOOPBACK)
    killed = "Nov 29 10:00:00 tray1 kernel: Out of memory: Killed process 42 (VLLM::Worker_TP0) total-vm:9kB\n"
    assert answer({"tray1/log": text, "tray1/kernel.txt": killed})[0] == "F-GLOO-LOOPBACK"
    assert answer({"tray1/log": text, "tray1/kernel.txt": killed.replace("10:00:00", "10:34:00")})[0] == "F-HOST-OOM"
    assert answer({"tray2/kernel.txt": KERNEL.format("10:00:00"), "tray1/log": text})[0] == "F-XID"
