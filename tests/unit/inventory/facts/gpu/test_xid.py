from __future__ import annotations

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.gpu.xid import parse_uptime, parse_xids, read_xids
from inventory.facts.host import Xid
from tests.answered import answers

DMESG = """\
[  100.250000] NVRM: Xid (PCI:0000:9c:00): 48, pid=911, name=VLLM::Worker, DBE (double bit error)
[  100.250000] NVRM: Xid (PCI:0000:9c:00): 48, pid=911, name=VLLM::Worker, DBE (double bit error)
[ 3400.000000] NVRM: Xid (PCI:0009:01:00.0): 149, NETIR_LINK_EVT  Nonfatal XC0
[ 3400.000001] NVRM: next line of it: 0x0
[ 3500.000000] NVRM: GPU at PCI:0000:19:00: GPU-5f1f0000-0000-0000-0000-000000000000
[ 3500.000001] NVRM: GPU 0000:19:00.0: GPU has fallen off the bus.
"""


def test_a_kernel_log() -> None:
    first, second, third = parse_xids(DMESG, 3600.25)
    assert first == Xid(48, "0000:9c:00", 3500.0, "pid=911, name=VLLM::Worker, DBE (double bit error)")
    assert (second.code, second.gpu, second.age_s) == (149, "0009:01:00", 200.25)
    assert (third.code, third.gpu, third.text) == (None, "0000:19:00", "fallen off the bus")


def test_other_forms_of_the_same() -> None:
    journal = "Sep 05 15:17:02 h1 kernel: NVRM: Xid (PCI:0000:9C:00): 94, pid=911, Contained memory error\n"
    assert parse_xids(journal) == (Xid(94, "0000:9c:00", None, "pid=911, Contained memory error"),)
    assert parse_xids("NVRM: Xid (0000:03:00): 31, Ch 00000028\n")[0].code == 31


def test_a_message_over_several_lines() -> None:
    log = (
        "[1.0] NVRM: The NVIDIA GPU 0000:5e:00.0\n"
        "NVRM: (PCI ID: 10de:20b0) installed in this system has\n"
        "NVRM: fallen off the bus and is not responding\n"
    )
    assert [(one.code, one.gpu) for one in parse_xids(log, 5.0)] == [(None, "0000:5e:00")]


@pytest.mark.parametrize(
    "log", ["", "NVRM: loading NVIDIA UNIX Kernel Module", "Xid", "NVRM: Xid (PCI:x): 48", "\0\ufffd"]
)
def test_nothing(log: str) -> None:
    assert parse_xids(log, 1.0) == ()


def test_a_log_that_is_full_of_them_is_cut() -> None:
    many = "".join(f"[{n}.0] NVRM: Xid (PCI:0000:9c:00): 31, pid={n}\n" for n in range(300))
    found = parse_xids(many, 300.0)
    assert (len(found), found[-1].age_s) == (100, 1.0)


def test_none_is_an_answer_and_a_refusal_is_not() -> None:
    assert read_xids(answers({"kernel_log.errors": "", "kernel_log.uptime": "12.5 3.0\n"})) == ()
    refused = read_xids(
        answers({"kernel_log.errors": (1, "dmesg: read kernel buffer failed: Operation not permitted")})
    )
    assert isinstance(refused, Unknown)
    assert refused.why is Why.REFUSED
    assert isinstance(read_xids(answers({})), Unknown)


def test_uptime() -> None:
    assert parse_uptime("13336.61 6128.60\n") == 13336.61
    assert parse_uptime("") is None
    assert parse_uptime("much\n") is None
