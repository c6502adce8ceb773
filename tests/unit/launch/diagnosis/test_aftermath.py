"""What a victim says behind the end of its peer is no cause, in whichever words it comes."""

from __future__ import annotations

import pytest

from tests.unit.launch.diagnosis.captures import begins, judged, line, traceback, wrapped

CLOSED = "RuntimeError: [pair.cc:547] Connection closed by peer [10.0.0.2]:3112"
REMOTE = (
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3715, remote process exited, NCCL 2.28.9",
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
    "Last error:",
    "socketProgress: Connection closed by remote peer tray2<47811>",
)
UNKNOWN = "KeyError: 'model.layers.61.eh_proj.weight'"


def remote(at: str) -> str:
    """An exception of four lines, as a logger writes them."""
    more = "".join(line(at, text, process="Worker_TP0", pid=81) for text in REMOTE[1:])
    return traceback(at, REMOTE[0], process="Worker_TP0", pid=81) + more


def test_the_lines_of_a_message_are_no_errors_of_their_own() -> None:
    found = judged({"tray1.log": begins("10:00:00") + remote("10:04:08")})
    assert (found.answer, found.first and found.first.message) == ("consequence", "nccl")
    several = traceback("10:04:08", UNKNOWN) + line("10:04:08", "For debugging consider x") + line("10:04:09", "other")
    assert len(judged({"tray1.log": begins("10:00:00") + several}).errors) == 2


@pytest.mark.parametrize("at", ["10:04:06", "10:04:10"])
def test_nccl_that_tells_of_a_peer_is_a_victim(at: str) -> None:
    """Although clocks that nobody compared put it before the error of the peer."""
    files = {
        "tray1.log": begins("10:00:00") + remote(at),
        "tray2.log": begins("10:00:00") + traceback("10:04:08", UNKNOWN),
    }
    found = judged(files)
    assert (found.answer, found.errors[0].host) == ("unknown", "tray2")


WATCHDOG = "[Rank 8] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=90121, OpType=ALLREDUCE)"
CRASHED = "terminate called after throwing an instance of 'c10::DistBackendError'"


@pytest.mark.parametrize(("texts", "answer"), [((WATCHDOG, CRASHED), "F-WATCHDOG"), ((CRASHED, WATCHDOG), "unknown")])
def test_of_one_second_the_order_of_lines_counts(texts: tuple[str, ...], answer: str) -> None:
    """A journal has whole seconds."""
    said = "".join(f"Nov 29 10:41:20 tray1 vllm[7]: {text}\n" for text in texts)
    victim = begins("10:00:00") + traceback("10:41:20", CLOSED)
    assert judged({"tray1/journal.txt": said, "tray2.log": victim}).id == answer


def test_what_is_taken_down_complains() -> None:
    text = begins("10:00:00") + traceback("10:05:00", CLOSED) + wrapped("10:05:01")
    tracker = "resource_tracker.py:254: UserWarning: resource_tracker: '/mp-8a_x': [Errno 2] No such file: '/mp-8a_x'\n"
    assert judged({"tray1.log": text + tracker}).id == "F-PEER-GONE"
    assert judged({"tray1.log": begins("10:00:00") + tracker}).id == "F-SEMLOCK"


@pytest.mark.parametrize(
    ("at", "answer"), [("10:05:01", "unknown"), ("10:05:06", "consequence"), ("11:00:00", "unknown")]
)
def test_an_error_seconds_behind_the_end_of_a_peer_is_its_aftermath(at: str, answer: str) -> None:
    late = traceback(at, "RuntimeError: cannot schedule new futures after shutdown")
    assert judged({"tray1.log": begins("10:00:00") + traceback("10:05:00", CLOSED) + late}).answer == answer
    other = {"tray1.log": begins("10:00:00") + traceback("10:05:00", CLOSED), "tray2.log": begins("10:00:00") + late}
    assert judged(other).answer == "unknown"
