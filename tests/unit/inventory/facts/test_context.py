from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from inventory.facts.base import Unknown, Why, is_known
from inventory.facts.context import parse_cgroup, parse_report, read_context, read_numa_bind
from inventory.facts.context_parts import parse_limit
from inventory.facts.gather import Asked, gather, piece
from inventory.facts.host import Device, LaunchContext, Leftover, Limit, NumaBind, Pids, SharedMemory
from inventory.transport.local import LocalTransport
from tests.answered import Said, answers

ROOT = Path(__file__).parents[4]
REPORT = """\
@ status
Cpus_allowed_list:\t0-2,4
CapEff:\t0000000000804000
Mems_allowed_list:\t0-1
@ limits
Limit                     Soft Limit           Hard Limit           Units
Max processes             4096                 unlimited            processes
Max open files            1024                 1048576              files
Max locked memory         unlimited            unlimited            bytes
@ cgroup
0::/system.slice/run-u12.service
@ cgroup-limits
/sys/fs/cgroup/system.slice/run-u12.service/memory.max:max
/sys/fs/cgroup/system.slice/run-u12.service/pids.max:max
/sys/fs/cgroup/system.slice/run-u12.service/pids.current:3
/sys/fs/cgroup/system.slice/memory.max:68719476736
/sys/fs/cgroup/system.slice/pids.max:9000
/sys/fs/cgroup/system.slice/pids.current:800
@ kernel
/proc/sys/kernel/threads-max:2061578
/proc/sys/kernel/pid_max:4194304
/proc/loadavg:0.52 0.58 0.59 3/1530 51234
@ shm
Filesystem     1024-blocks  Used Available Capacity Mounted on
tmpfs            500000000   100 499999900       1% /dev/shm
@ shm-files
-rw------- 1 1000 1000 9000 Nov 29 19:45 /dev/shm/nccl-5fTq
-rw------- 1 1000 1000 32 Nov 29 20:27 /dev/shm/sem.mp-hv
mapped /dev/shm/sem.mp-hv
@ environment
HF_HOME=/data/models
HF_TOKEN=***
@ engine-limits
Max locked memory         8388608              8388608              bytes
@ id
uid=1000(serve) gid=1000(serve) groups=1000(serve),44(video),109(render)
@ mempolicy
bind:0
@ numactl
/usr/bin/numactl
numactl --cpunodebind=0 --membind=0 true -> rc=0
numactl --cpunodebind=1 --membind=1 true -> rc=1
numactl --cpunodebind=1 true -> rc=0
@ devices
opens /dev/infiniband/uverbs0
denied /dev/kfd
crw-rw-rw- root root 0 /dev/infiniband/uverbs0
crw-rw---- root render 109 /dev/kfd
"""
MACHINE: dict[str, Said] = {
    "processor.online": "0-7\n",
    "processor.topology": "".join(
        f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id:0\n"
        f"/sys/devices/system/cpu/cpu{cpu}/topology/core_id:{cpu % 4}\n"
        for cpu in range(8)
    ),
}


def read(report: Said = REPORT, where: str = "systemd-unit") -> LaunchContext:
    found = read_context(answers({**MACHINE, f"context.{where}": report}))
    assert is_known(found)
    return found


def test_a_whole_report() -> None:
    assert read() == LaunchContext(
        where="systemd-unit",
        user="serve",
        uid=1000,
        groups=(1000, 44, 109),
        cgroup="/system.slice/run-u12.service",
        locked_memory=Limit(None, None),
        open_files=Limit(1024, 1048576),
        processes=Limit(4096, None),
        engine_locked_memory=Limit(8388608, 8388608),
        cpus_allowed=(0, 1, 2, 4),
        physical_cores=3,
        nodes_allowed=(0, 1),
        memory_policy="bind:0",
        memory_maximum=64 << 30,
        pids=Pids(9000, 800, 2061578, 4194304, threads=1530),
        shared_memory=SharedMemory(
            500000000 << 10,
            499999900 << 10,
            (
                Leftover("/dev/shm/nccl-5fTq", 9000, 1000, mapped=False),
                Leftover("/dev/shm/sem.mp-hv", 32, 1000, mapped=True),
            ),
        ),
        environment=(("HF_HOME", "/data/models"), ("HF_TOKEN", "***")),
        devices=(
            Device("/dev/infiniband/uverbs0", opens=True, group="root", gid=0, mode="crw-rw-rw-"),
            Device("/dev/kfd", opens=False, group="render", gid=109, mode="crw-rw----"),
        ),
        ipc_lock=True,
        sys_nice=True,
    )


def test_what_may_be_bound() -> None:
    found = read_numa_bind(answers({"context.systemd-unit": REPORT}))
    assert found == NumaBind(numactl=True, cpu=(0, 1), memory=(0,), tried=(0, 1))
    assert read_numa_bind(answers({"context.process-group": "@ numactl\nnumactl: not found\n"})) == NumaBind(
        numactl=False
    )


def test_a_part_that_is_not_told_is_unknown_and_costs_no_other() -> None:
    found = read("@ limits\nMax open files 1024 4096 files\n", "process-group")
    assert found.open_files == Limit(1024, 4096)
    for part in (found.locked_memory, found.cpus_allowed, found.memory_maximum, found.shared_memory, found.ipc_lock):
        assert isinstance(part, Unknown)
    assert isinstance(found.devices, Unknown)
    assert found.devices.why is Why.NOT_ASKED, "no device is another answer: an empty part"
    assert read("@ devices\n").devices == ()


def test_a_unit_that_cannot_be_started_is_no_context() -> None:
    found = read_context(
        answers({"context.systemd-unit": (1, "Failed to start transient service unit: Access denied")})
    )
    assert isinstance(found, Unknown)
    assert (found.why, "transient unit" in found.detail, "Access denied" in found.detail) == (Why.REFUSED, True, True)


def test_a_section_that_hangs() -> None:
    found = read_context(answers({}, ends={"context": 124}))
    assert isinstance(found, Unknown)
    assert found.why is Why.TIMED_OUT


def test_groups_of_old_cgroups() -> None:
    assert parse_cgroup("4:memory:/user\n1:name=systemd:/user.slice/session-3.scope\n0::/\n") == (
        "/user.slice/session-3.scope"
    )
    limits = "@ cgroup-limits\n/sys/fs/cgroup/memory/x/memory.limit_in_bytes:9223372036854771712\n"
    assert parse_report(limits, "process-group").memory_maximum is None
    assert parse_report(limits.replace("9223372036854771712", "1073741824"), "login").memory_maximum == 1 << 30


@pytest.mark.parametrize("text", ["", "@", "@ limits", "\0\xff", "@ status\nCpus_allowed_list:\t9-1\n@ x\n@ shm\nx\n"])
def test_any_text_is_read_without_an_error(text: str) -> None:
    parse_report(text, "login")


def test_this_machine() -> None:
    """The kernel that runs the test is asked, in the way in which a rank would be started here."""
    resource = pytest.importorskip("resource")
    transport = LocalTransport("here")
    try:
        facts = gather(transport, Asked(state_dir="/var/lib/bringup-not-there"))
    finally:
        transport.close()
    assert is_known(facts.context)
    context = facts.context
    if context.where != "process-group":
        pytest.skip("this machine has a systemd that we may use: it gives other limits than ours")
    assert context.open_files == Limit(*resource.getrlimit(resource.RLIMIT_NOFILE))
    assert context.cpus_allowed == tuple(sorted(os.sched_getaffinity(0)))
    assert context.uid == os.getuid()
    assert is_known(context.shared_memory)
    assert context.shared_memory.total_bytes == os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize


def test_secrets_stay_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_do-not-tell")
    monkeypatch.setenv("VLLM_API_KEY", "do-not-tell")
    monkeypatch.setenv("https_proxy", "http://user:do-not-tell@proxy:3128")
    monkeypatch.setenv("HF_HOME", "/data/models huggingface")
    transport = LocalTransport("here")
    try:
        facts = gather(transport, Asked(state_dir="/var/lib/bringup-not-there"))
    finally:
        transport.close()
    assert is_known(facts.context)
    if facts.context.where == "process-group":
        assert is_known(facts.context.environment)
        told = dict(facts.context.environment)
        assert told["HF_HOME"] == "/data/models huggingface"
        assert (told["HF_TOKEN"], told["VLLM_API_KEY"]) == ("***", "***")
        assert told["https_proxy"] == "http://***@proxy:3128"
    assert "do-not-tell" not in repr(facts)


def test_the_transient_unit_has_the_limits_of_the_unit_of_a_deployment() -> None:
    unit = (ROOT / "launch/templates/bringup.service.j2").read_text()
    wanted = set(re.findall(r"^((?:Limit\w+|TasksMax|KillMode)=\S+)$", unit, re.MULTILINE))
    asked = set(re.findall(r"-p ((?:Limit\w+|TasksMax|KillMode)=\S+)", piece("sh/context")))
    assert wanted
    assert asked == wanted


@pytest.mark.parametrize(
    ("line", "limit"),
    [
        ("Max locked memory         8388608              8388608              bytes", Limit(8388608, 8388608)),
        ("Max locked memory         unlimited            unlimited            bytes", Limit(None, None)),
        ("Max locked memory 65536 unlimited bytes\n", Limit(65536, None)),
    ],
)
def test_a_line_of_limits(line: str, limit: Limit) -> None:
    assert parse_limit(f"Max open files 1 2 files\n{line}\n", "locked memory") == limit
