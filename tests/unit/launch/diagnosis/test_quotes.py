"""What a capture has beside a failure is told with it: limits, mounts, sizes, last lines of the others."""

from __future__ import annotations

import pytest

from launch.diagnosis.quotes import QUOTES
from launch.diagnosis.table import by_id
from tests.unit.launch.diagnosis.captures import begins, judged, line, traceback

LIMITS = "Max open files 1024 1048576 files\nMax locked memory 8388608 8388608 bytes\nMax processes 512 512 processes\n"
MOUNTS = "/ ext4 rw\n/cache nfs4 rw\n/tmp tmpfs rw,noexec\n"
CASES = [
    ("Please set max locked memory (ulimit -l) to unlimited", "tray1/proc_limits.txt", LIMITS, "8388608"),
    ("OSError: [Errno 24] Too many open files", "tray1/proc_limits.txt", LIMITS, "1048576"),
    ("RuntimeError: can't start new thread", "tray1/proc_limits.txt", LIMITS, "processes 512"),
    ("OSError: [Errno 116] Stale file handle: '/cache/x'", "tray1/findmnt.txt", MOUNTS, "/cache nfs4"),
    ("ImportError: /tmp/x.so: failed to map segment from shared object", "tray1/findmnt.txt", MOUNTS, "noexec"),
    ("exec format error", "tray1/uname_-m.txt", "aarch64\n", "aarch64"),
    ("Received message too long 1214606444", "tray1/df.txt", "/ 1\n", "'Hell'"),
    ("RuntimeError: No CUDA GPUs are available", "tray1/uname_-r.txt", "6.8.0-111-generic\n", "6.8.0-111"),
]


@pytest.mark.parametrize(("error", "name", "text", "word"), CASES)
def test_what_lies_beside_a_failure_is_told(error: str, name: str, text: str, word: str) -> None:
    found = judged({"tray1.log": traceback("10:00:00", error), name: text}).first
    assert found is not None
    assert word in "\n".join(found.details)


def test_what_differs_is_told_of_all_hosts() -> None:
    files = {"tray1.log": line("10:00:00", "NET/IB: Got completion with status=IBV_WC_LOC_LEN_ERR(1) opcode=129")}
    for host, size in (("tray1", 9000), ("tray2", 1500)):
        files[f"{host}/ip_link.txt"] = f"1: lo: <UP> mtu 65536\n3: ens1: <UP> mtu {size} state UP\n"
    found = judged(files).first
    assert found is not None
    assert found.details == ("tray1: 3: ens1: <UP> mtu 9000 state UP", "tray2: 3: ens1: <UP> mtu 1500 state UP")


def test_who_did_not_come_is_told_with_the_last_line() -> None:
    head = begins("10:00:00") + traceback("10:11:00", "DistStoreError: Timed out after 601 s. 1/2 clients joined.")
    loads = begins("10:00:00") + line("10:00:30", "Starting to load model", process="Worker_TP8", level="INFO")
    found = judged({"tray1.log": head, "tray2.log": loads, "tray3/df.txt": "/ 1\n"}).first
    assert found is not None
    assert "tray2's last line: (Worker_TP8" in found.details[0]
    assert found.details[-1] == "no log of tray3"


def test_who_never_reached_the_head_is_told_what_the_head_did() -> None:
    error = "RuntimeError: Did not receive response from front-end process within 5 minutes"
    head = begins("10:00:00") + line("10:00:30", "Resolved architecture: X", process="APIServer", level="INFO")
    found = judged({"tray1.log": head, "tray2.log": traceback("10:05:00", error)}).first
    assert found is not None
    assert (found.host, "Resolved architecture" in found.details[0]) == ("tray2", True)


def test_a_unit_that_ends_tells_no_more_than_that() -> None:
    unit = "Nov 29 10:00:00 tray1 systemd[1]: x.service: Main process exited, code=exited, status={}\n"
    found = judged({"tray1/journal_unit.txt": unit.format("127/n/a")})
    assert (found.answer, found.id) == ("consequence", "E-UNIT-FAILED")
    assert judged({"tray1/journal_unit.txt": unit.format("143/n/a")}).answer == "nothing"


@pytest.mark.parametrize(("task", "answer"), [("VLLM::Worker_TP:91", "known"), ("jbd2/nvme0n1-8:812", "nothing")])
def test_a_hanging_disk_is_not_the_driver(task: str, answer: str) -> None:
    kernel = f"Nov 29 10:01:40 tray1 kernel: INFO: task {task} blocked for more than 122 seconds.\n"
    assert judged({"tray1/kernel.txt": kernel}).answer == answer


def test_every_quote_is_of_a_known_failure() -> None:
    assert QUOTES.keys() <= by_id().keys()


@pytest.mark.parametrize(
    "error",
    [
        "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8011): address already in use",
        "The server socket has failed to listen on any local network address. port: 8011, code: -98, name: EADDRINUSE",
        "zmq.error.ZMQError: Address already in use (addr='tcp://10.0.0.1:8011')",
        "zmq.error.ZMQError: Address already in use (addr='tcp://[fd00::1]:8011')",
    ],
)
def test_who_holds_the_port_is_told(error: str) -> None:
    ss = 'LISTEN 0 9 0.0.0.0:8000 0.0.0.0:* users:(("other",pid=1,fd=3))\n'
    ss += 'LISTEN 0 9 0.0.0.0:8011 0.0.0.0:* users:(("uvicorn",pid=777,fd=3))\n'
    found = judged({"tray1.log": begins("10:00:00") + line("10:00:11", error), "tray1/ss_-ltnp.txt": ss}).first
    assert found is not None
    assert found.details[0] == "port 8011 is held by uvicorn (pid 777)"


def test_docker_tells_who_was_killed_for_memory() -> None:
    state = '[{"State": {"Status": "exited", "ExitCode": 137, "OOMKilled": true}}]\n'
    assert judged({"tray1/docker_inspect.json": state}).id == "F-HOST-OOM"
    assert judged({"tray1/docker_inspect.json": state.replace("true", "false")}).answer == "nothing"
