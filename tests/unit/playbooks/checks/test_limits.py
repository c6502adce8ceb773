from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inventory.facts.base import NOT_ASKED, Unknown, Why
from inventory.facts.host import HostFacts, Leftover, Limit, Pids, SharedMemory
from playbooks.checks import os_cgroup_mem, os_memlock, os_nofile, os_pids, os_shm
from playbooks.checks.os_shm import parse_size
from playbooks.finding import Status
from playbooks.requirements import Container, ExpectedWeights, Requirements, WeightFile
from tests.unit.playbooks.checks.cases import HUNG, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.contexts import GIB, NO_LIMIT, inside
from tests.unit.playbooks.checks.gang import cpu_needs, gang_needs, tray, tray_needs

MIB = 2**20
REFUSED = Unknown(Why.REFUSED, "a transient unit could not be started: Access denied")


def two(**fields: Any) -> dict[str, HostFacts]:  # noqa: ANN401
    """The second tray's context is other than usual."""
    return {"tray1": inside("tray1"), "tray2": inside("tray2", **fields)}


def rdma(**fields: Any) -> Requirements:  # noqa: ANN401
    return replace(gang_needs(), rdma=True, **fields)


def docker(*arguments: str) -> Container:
    return Container("vllm/vllm-openai:v0.33.0", arguments=arguments)


@gang_table(
    GangCase("unlimited", Status.PASS, two(), rdma(), says=("unlimited locked memory in the unit",)),
    GangCase(
        "8 MiB",
        Status.FAIL,
        two(locked_memory=Limit(8 * MIB, 8 * MIB)),
        rdma(),
        blamed=("tray2",),
        says=("8 MiB (8388608 bytes)", "LimitMEMLOCK=infinity"),
    ),
    GangCase("exactly 64 MiB", Status.WARN, two(locked_memory=Limit(64 * MIB, None)), rdma(), blamed=("tray2",)),
    GangCase("a byte less", Status.FAIL, two(locked_memory=Limit(64 * MIB - 1, None)), rdma()),
    GangCase(
        "a capability lifts the limit",
        Status.WARN,
        two(locked_memory=Limit(8 * MIB, 8 * MIB), ipc_lock=True),
        rdma(),
        says=("CAP_IPC_LOCK",),
    ),
    GangCase("no RDMA", Status.SKIP, two(locked_memory=Limit(0, 0)), replace(gang_needs(), rdma=False)),
    GangCase("the plan does not tell", Status.SKIP, two(), gang_needs()),
    GangCase("could not look", Status.UNKNOWN, {h: replace(tray(h), context=REFUSED) for h in two()}, rdma()),
    GangCase("nobody looked", Status.WARN, {h: replace(tray(h), context=NOT_ASKED) for h in two()}, rdma()),
    GangCase(
        "docker hands out what its daemon has, whatever a unit would get",
        Status.FAIL,
        two(engine_locked_memory=Limit(8 * MIB, 8 * MIB)),
        rdma(container=docker("--gpus", "all")),
        blamed=("tray2",),
        says=("a container",),
    ),
    GangCase(
        "the planned arguments lift it",
        Status.PASS,
        two(engine_locked_memory=Limit(8 * MIB, 8 * MIB)),
        rdma(container=docker("--ulimit", "memlock=-1")),
    ),
    GangCase(
        "the planned arguments are not enough",
        Status.FAIL,
        two(),
        rdma(container=docker("--ulimit=memlock=1048576:1048576")),
        says=("1 MiB",),
    ),
    GangCase(
        "read inside the container",
        Status.FAIL,
        two(where="container", locked_memory=Limit(8 * MIB, 8 * MIB), engine_locked_memory=NO_LIMIT),
        rdma(container=docker("--ulimit", "memlock=-1")),
        says=("the container of the ranks",),
    ),
)
def test_memlock(case: GangCase) -> None:
    assert_gang(os_memlock, case)


def shm(total: int, free: int | None = None, *left: Leftover) -> dict[str, HostFacts]:
    return two(shared_memory=SharedMemory(total, total if free is None else free, left))


def left(size: int, *, mapped: bool = False) -> Leftover:
    return Leftover("/dev/shm/nccl-a1b2c3", size, 1000, mapped=mapped)


@gang_table(
    GangCase("plenty", Status.PASS, two(), says=("450.0 GiB",)),
    GangCase("64 MiB", Status.FAIL, shm(64 * MIB), blamed=("tray2",), says=("--shm-size=32g",)),
    GangCase("exactly 1 GiB", Status.WARN, shm(GIB), blamed=("tray2",)),
    GangCase("exactly 16 GiB", Status.PASS, shm(16 * GIB)),
    GangCase("large and full", Status.WARN, shm(100 * GIB, 500 * MIB), says=("0.5 GiB free",)),
    GangCase("dead engines left much", Status.WARN, shm(20 * GIB, 9 * GIB, left(3 * GIB)), says=("nccl-a1b2c3",)),
    GangCase("dead engines left a little", Status.PASS, shm(20 * GIB, 18 * GIB, left(2 * GIB))),
    GangCase("files that are in use are no leftovers", Status.PASS, shm(20 * GIB, 9 * GIB, left(9 * GIB, mapped=True))),
    GangCase(
        "a container without arguments has docker's 64 MiB",
        Status.FAIL,
        two(),
        replace(gang_needs(), container=docker("--gpus", "all")),
        says=("a container with the planned arguments",),
    ),
    GangCase("the host's", Status.PASS, two(), replace(gang_needs(), container=docker("--ipc=host"))),
    GangCase("its own", Status.PASS, two(), replace(gang_needs(), container=docker("--shm-size", "32g"))),
    GangCase("its own, small", Status.FAIL, two(), replace(gang_needs(), container=docker("--shm-size=512mb"))),
    GangCase(
        "nobody looked where ranks start: the login has the same",
        Status.PASS,
        {h: tray(h) for h in two()},
        says=("the login",),
    ),
    GangCase("hung", Status.UNKNOWN, {h: replace(tray(h), context=HUNG, memory=HUNG) for h in two()}),
    GangCase("nobody looked at all", Status.SKIP, {h: replace(tray(h), memory=NOT_ASKED) for h in two()}),
)
def test_shm(case: GangCase) -> None:
    assert_gang(os_shm, case)


@pytest.mark.parametrize(
    ("text", "size"),
    [("32g", 32 * GIB), ("32G", 32 * GIB), ("512mb", 512 * MIB), ("67108864", 64 * MIB), ("", None), ("a lot", None)],
)
def test_sizes_as_docker_reads_them(text: str, size: int | None) -> None:
    assert parse_size(text) == size


@table(
    Case("a million", Status.PASS, inside(), says=("1048576 hard",)),
    Case("exactly what vLLM asks for", Status.PASS, inside(open_files=Limit(1024, 65535))),
    Case("one less, but the soft limit helps", Status.WARN, inside(open_files=Limit(8192, 65534))),
    Case(
        "one less, and the soft one is small",
        Status.FAIL,
        inside(open_files=Limit(8191, 65534)),
        says=("8191 soft, 65534 hard", "LimitNOFILE"),
    ),
    Case("unlimited", Status.PASS, inside(open_files=NO_LIMIT)),
    Case("could not look", Status.WARN, replace(tray(), context=REFUSED), says=("Access denied",)),
    Case("nobody looked", Status.SKIP, replace(tray(), context=NOT_ASKED)),
)
def test_nofile(case: Case) -> None:
    assert_host(os_nofile, case)


def pids(maximum: int | None, current: int | None = None, **fields: int | None) -> HostFacts:
    return inside(pids=Pids(maximum, current, **fields))


@table(
    Case("no limit near", Status.PASS, inside()),
    Case("4096 left", Status.WARN, pids(5096, 1000), says=("room for 4096", "pids.max 5096 with 1000 there")),
    Case("4095 left", Status.FAIL, pids(5095, 1000), says=("TasksMax=infinity",)),
    Case("16384 left", Status.PASS, pids(17384, 1000)),
    Case("16383 left", Status.WARN, pids(17383, 1000)),
    Case("the kernel's own", Status.WARN, pids(None, pid_maximum=10_000, threads=3_000), says=("kernel.pid_max",)),
    Case("the user's", Status.FAIL, inside(processes=Limit(1024, 1024)), says=("ulimit -u 1024",)),
    Case("root has no such limit", Status.PASS, inside(processes=Limit(1024, 1024), uid=0)),
    Case("nothing is told", Status.SKIP, inside(pids=HUNG, processes=HUNG)),
    Case("could not look", Status.WARN, replace(tray(), context=REFUSED)),
    Case("nobody looked", Status.SKIP, replace(tray(), context=NOT_ASKED)),
)
def test_pids(case: Case) -> None:
    assert_host(os_pids, case)


SHARDS = ExpectedWeights("org/model", "c0ffee", None, (WeightFile("a.safetensors", 9 * GIB), WeightFile("b", GIB)))
FROM_SHARDS = replace(tray_needs(), host_memory_bytes=None, weights=SHARDS)  # 9 x 4 + 16 = 52 GiB


@table(
    Case("no limit", Status.PASS, inside()),
    Case("exactly the plan's", Status.PASS, inside(memory_maximum=200 * GIB)),
    Case("a byte less", Status.FAIL, inside(memory_maximum=200 * GIB - 1), says=("200.0 GiB of host memory",)),
    Case(
        "by the shards",
        Status.FAIL,
        inside(memory_maximum=50 * GIB),
        FROM_SHARDS,
        says=("50.0 GiB", "9.0 GiB x 4 loading workers + 16.0 GiB = 52.0 GiB", "MemoryMax="),
    ),
    Case("enough for the shards", Status.PASS, inside(memory_maximum=52 * GIB), FROM_SHARDS),
    Case("a trial on CPUs", Status.PASS, inside(memory_maximum=2 * GIB), replace(cpu_needs(), host_memory_bytes=None)),
    Case("could not look", Status.WARN, replace(tray(), context=REFUSED)),
    Case("no cgroup tells it", Status.SKIP, inside(memory_maximum=Unknown(Why.UNREADABLE, "no cgroup"))),
    Case("nobody looked", Status.SKIP, replace(tray(), context=NOT_ASKED)),
)
def test_cgroup_memory(case: Case) -> None:
    assert_host(os_cgroup_mem, case)
