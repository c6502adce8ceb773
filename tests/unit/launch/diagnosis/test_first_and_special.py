"""Which of several known failures is the answer: the first line of a text, and what says more than another."""

from __future__ import annotations

import json

import pytest

from tests.unit.launch.diagnosis.captures import answer, begins, judged, line, traceback, wrapped

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB."
KV = "ValueError: No available memory for the cache blocks."
NO_GPU = "RuntimeError: No CUDA GPUs are available"
CLOSED = "RuntimeError: [pair.cc:547] Connection closed by peer [10.0.0.2]:3112"
LOOPBACK = "RuntimeError: Gloo connectFullMesh failed with [pair.cc:152] Connection refused, remote=[127.0.1.1]:4"
MESH = "RuntimeError: Gloo connectFullMesh failed with [pair.cc:152] Connection timed out, remote=[10.0.0.2]:4"
READY = line("10:05:00", "x", process="APIServer", pid=11, level="INFO").replace(
    "x\n", "Application startup complete.\n"
)
TOKENS = "Engine 000: Avg prompt throughput: 8.0 tokens/s, Avg generation throughput: {} tokens/s, Running: 4 reqs"


def serves(at: str, tokens: str = "12.5") -> str:
    return line(at, TOKENS.format(tokens), process="APIServer", pid=11, level="INFO")


@pytest.mark.parametrize("form", ["(Worker_TP0 pid=3) {}\n", "(Worker_TP0 pid=3) ERROR 11-29 10:00:00 [x.py:1] {}\n"])
def test_of_one_moment_the_first_line_of_a_text_counts(form: str) -> None:
    """Whatever phases they are of: the second comes of the first."""
    assert answer({"tray1.log": form.format(OOM) + form.format(NO_GPU)})[0] == "F-CUDA-OOM"
    assert answer({"tray1.log": form.format(NO_GPU) + form.format(OOM)})[0] == "F-DRIVER-GONE"


def test_a_special_word_of_one_host_beats_a_general_one_of_another() -> None:
    files = {"tray1.log": traceback("10:00:00", MESH), "tray2.log": traceback("10:00:02", LOOPBACK)}
    found = judged(files)
    assert (found.id, found.first and found.first.host) == ("F-GLOO-LOOPBACK", "tray2")
    assert [one.id for one in found.consequences] == ["F-GLOO-MESH"]
    assert answer({**files, "tray2.log": traceback("10:20:00", LOOPBACK)})[0] == "F-GLOO-MESH"


CONFIG = [
    ("tokenizer_mode", "No tokenizer registered for tokenizer_mode='deepseek_v9'."),
    ("quant_noconfig", "Cannot find the config file for gptq"),
    ("heads_tp", "Total number of attention heads (96) must be divisible by tensor parallel size (64)."),
    ("model_path", "Invalid repository ID or local directory specified: '/raid/models/x'."),
    ("pydantic", "Some rule that no table knows."),
]


@pytest.mark.parametrize(("message", "reason"), CONFIG)
def test_the_reason_of_a_refused_configuration_is_the_answer(message: str, reason: str) -> None:
    text = begins("10:00:00") + "(APIServer pid=11) Traceback (most recent call last):\n(APIServer pid=11)     x\n"
    text += "(APIServer pid=11) pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    text += f"(APIServer pid=11)   Value error, {reason} [type=value_error, input_value=ArgsKwargs(())]\n"
    found = judged({"tray1.log": text}).first
    assert found is not None
    assert found.message == message


def test_a_container_that_restarts_has_the_same_numbers() -> None:
    """Every start in a container of its own is process 1: the last one counts."""
    text = begins("10:00:00", pid=1) + traceback("10:02:00", OOM, pid=80) + wrapped("10:02:01")
    text += begins("10:03:00", pid=1) + traceback("10:05:00", KV, pid=80)
    assert answer({"tray1.log": text}) == ("F-KV-NONE", "tray1")


def test_years_of_the_kernel_are_years_of_the_log() -> None:
    """`dmesg -T` tells the year, the engine does not."""
    text = begins("10:00:00") + READY + traceback("11:30:10", CLOSED)
    kernel = "[Sun Nov 29 11:30:02 2026] NVRM: Xid (PCI:0000:db:00): 79, pid=8, GPU has fallen off the bus.\n"
    assert answer({"tray1.log": text, "tray2/dmesg.txt": kernel}) == ("F-XID", "tray2")


def test_years_of_the_journal_are_years_of_the_kernel() -> None:
    """`journalctl -o json` of the engine beside `dmesg` in its short form."""
    texts = (begins("11:20:00") + traceback("11:30:10", CLOSED)).splitlines()
    at = "1795951800000000"  # 2026-11-29 11:30:00
    entry = {"__REALTIME_TIMESTAMP": at, "_HOSTNAME": "tray1", "SYSLOG_IDENTIFIER": "vllm"}
    journal = "".join(json.dumps({**entry, "MESSAGE": one}) + "\n" for one in texts)
    kernel = "Nov 29 11:29:58 tray2 kernel: NVRM: Xid (PCI:0000:db:00): 79, pid=8, GPU has fallen off the bus.\n"
    assert answer({"tray1/journal.json.txt": journal, "tray2/kernel.txt": kernel}) == ("F-XID", "tray2")


def logged(at: str, message: str, **more: object) -> str:
    told = {"asctime": f"2026-11-29 {at},120", "levelname": "ERROR", "name": "vllm", "processName": "EngineCore_DP2"}
    return json.dumps({**told, "process": 70, "message": message, **more}) + "\n"


@pytest.mark.parametrize("where", ["exc_info", "message"])
def test_a_traceback_in_json(where: str) -> None:
    trace = f'Traceback (most recent call last):\n  File "x.py", line 1, in y\n{OOM}'
    head = "EngineCore failed to start."
    text = logged("10:02:00", head, exc_info=trace) if where == "exc_info" else logged("10:02:00", f"{head}\n{trace}")
    found = judged({"tray1.log": text})
    assert (found.id, found.first and found.first.ranks) == ("F-CUDA-OOM", (2,))
    unknown = judged({"tray1.log": text.replace(OOM, "KeyError: 'x'")})
    assert (unknown.answer, len(unknown.errors)) == ("unknown", 1)


@pytest.mark.parametrize("prefix", ["[glm5/rank0] ", "node-a: ", "glm5|prod| "])
def test_a_prefix_of_the_operator_hides_no_level(prefix: str) -> None:
    """`VLLM_LOGGING_PREFIX`: a request that quotes an error is still of level INFO."""
    quoted = line("10:06:00", f"Received request x: prompt: '{OOM}'", level="INFO")
    assert judged({"tray1.log": prefix + quoted}).answer == "nothing"
    assert answer({"tray1.log": prefix + line("10:06:00", OOM)})[0] == "F-CUDA-OOM"


@pytest.mark.parametrize(
    "error", ["ValueError: maximum context length is 131072", "BrokenPipeError: [Errno 32] Broken pipe"]
)
def test_a_request_that_failed_is_no_failure_of_a_server_that_serves_on(error: str) -> None:
    failed = traceback("10:06:00", error, process="APIServer", pid=11).replace("EngineCore failed to start.", "Error")
    text = begins("10:00:00") + READY + serves("10:05:30") + failed
    assert judged({"tray1.log": text + serves("10:07:00")}).answer == "nothing"
    assert judged({"tray1.log": text + serves("10:07:00", "0.0")}).answer != "nothing"
    assert judged({"tray1.log": text}).answer != "nothing"


def test_an_engine_that_failed_serves_nobody() -> None:
    """With several engines the others go on for a while."""
    text = begins("10:00:00") + READY + traceback("10:06:00", "KeyError: 'x'") + serves("10:06:05")
    assert judged({"tray1.log": text}).answer == "unknown"


def test_a_headless_host_is_silent_while_its_head_serves() -> None:
    follower = begins("10:00:00").replace("'model'", "'headless': True, 'model'") + line(
        "10:03:00", "Model loading took 88 GiB memory and 72 seconds", process="Worker_TP8", level="INFO"
    )
    head = begins("10:00:00") + READY + serves("10:30:00")
    assert judged({"tray1.log": head, "tray2.log": follower}).answer == "nothing"
    waits = begins("10:00:00") + line("10:30:00", "Waiting for 1 remote engine", process="APIServer", level="INFO")
    assert judged({"tray1.log": waits, "tray2.log": follower}).answer == "silence"


@pytest.mark.parametrize(
    "status",
    ["error 12, opcode 0, len 0", "status=12 opcode=0", "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0)"],
)
def test_adapters_report_a_lost_peer_in_words_of_several_versions(status: str) -> None:
    warned = f"n1:21:26 [3] NCCL WARN NET/IB: Got completion from peer 10.6.2.12<418> with {status} vendor_err=129\n"
    lost = "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77, remote process exited"
    assert answer({"tray1.log": begins("10:00:00") + warned + traceback("10:30:00", lost)})[0] == "F-NCCL-TIMEOUT12"


def test_who_scans_a_host_is_not_the_answer() -> None:
    journal = "Nov 29 10:00:01 tray1 sshd[1]: error: kex_exchange_identification: Connection closed by remote host\n"
    text = "".join(f"Nov 29 10:02:00 tray1 docker[9]: {one}\n" for one in traceback("10:02:00", OOM).splitlines())
    assert answer({"tray1/journal.txt": journal + text})[0] == "F-CUDA-OOM"


def test_a_log_that_is_cut_in_its_last_line_tells_of_an_error() -> None:
    text = begins("10:00:00") + traceback("10:02:00", "KeyError: 'x'")
    for cut in range(2, len("[core.py:1510] KeyError: 'x'") + 12):
        found = judged({"tray1.log": text[:-cut], "tray2.log": begins("10:00:00") + traceback("10:02:01", CLOSED)})
        assert (found.answer, len(found.errors)) == ("unknown", 1), text[-cut - 40 : -cut]


@pytest.mark.parametrize("lines", [1, 2, 3, 4])
def test_a_log_that_breaks_off_in_an_error_tells_of_one(lines: int) -> None:
    text = begins("10:00:00") + "".join(traceback("10:02:00", "KeyError: 'x'").splitlines(keepends=True)[:lines])
    found = judged({"tray1.log": text})
    assert (found.answer, len(found.errors)) == ("unknown", 1)
    assert judged({"tray1.log": text, "tray2.log": traceback("10:02:00", OOM)}).id == "F-CUDA-OOM"


def test_an_exception_of_ray_is_the_end_of_its_traceback() -> None:
    error = "ray.exceptions.RayTaskError(KeyError): ray::Worker.execute() (pid=9, ip=10.0.0.2)"
    found = judged({"tray1.log": begins("10:00:00") + traceback("10:02:00", error)})
    assert [one.text.endswith("ip=10.0.0.2)") for one in found.errors] == [True]


@pytest.mark.parametrize(
    "warned", ["429 Client Error: Too Many Requests, retrying", "Ignore import error: undefined symbol: _ZN3c10"]
)
def test_a_warning_that_the_start_went_past_is_not_its_cause(warned: str) -> None:
    text = begins("10:00:00") + line("10:00:10", warned, process="Worker_TP0", level="WARNING")
    loads = line("10:03:00", "Loading weights took 70.5 seconds", process="Worker_TP0", level="INFO")
    wrong = traceback("10:04:00", "KeyError: 'x'")
    assert judged({"tray1.log": text + loads + wrong}).answer == "unknown"
    assert judged({"tray1.log": text + wrong}).answer == "known"
    lightly = judged({"tray1.log": text + loads})
    assert (lightly.answer, [one.severity for one in lightly.also]) == ("nothing", ["info"])
