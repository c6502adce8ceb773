from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from inventory.facts.host import FileSystem, HostFacts
from playbooks.checks import os_memory, sto_inodes, sto_space, sto_writable
from playbooks.checks.file_systems import holding, spaces_by_mount
from playbooks.finding import Status
from playbooks.requirements import Space
from tests.unit.playbooks.checks.cases import NO_TOOL, Case, assert_host, table
from tests.unit.playbooks.checks.gang import GB, GIB, change, known, tray, tray_needs

ROOT = known(tray().file_systems)[0]
NOTHING = replace(tray_needs(), space=())


def disk(**fields: object) -> HostFacts:
    return replace(tray(), file_systems=(replace(ROOT, **fields),))  # type: ignore[arg-type]


def writes(size: int) -> tuple[Space, ...]:
    return (Space("/var/lib/bringup/weights", size, "weights"),)


@table(
    Case("enough", Status.PASS),
    Case("nothing planned", Status.SKIP, needs=NOTHING),
    Case("each fits alone, together they do not", Status.FAIL, disk(free_bytes=870 * GB), says=("877.0 GB",)),
    Case("room for the files but not for partial ones", Status.FAIL, disk(free_bytes=900 * GB)),
    Case(
        "little left",
        Status.WARN,
        disk(total_bytes=1000 * GB, free_bytes=110 * GB),
        replace(tray_needs(), space=writes(100 * GB)),
        says=("left for logs",),
    ),
    Case(
        "all there already, on a nearly full disk",
        Status.PASS,
        disk(free_bytes=1 * GB),
        replace(tray_needs(), space=writes(0)),
    ),
    Case(
        "186 GB still to come, 147 free",
        Status.FAIL,
        disk(free_bytes=147 * GB),
        replace(tray_needs(), space=writes(186 * GB)),
        says=("186.0 GB", "147.0 GB"),
    ),
    Case("not asked for", Status.UNKNOWN, replace(tray(), file_systems=()), says=("/var/lib/bringup/weights",)),
    Case("unreadable", Status.UNKNOWN, replace(tray(), file_systems=NO_TOOL)),
)
def test_space(case: Case) -> None:
    assert_host(sto_space, case)


def test_the_fullest_of_several_file_systems_decides() -> None:
    small = FileSystem("/var/lib/bringup/envs", "/envs", "xfs", 20 * GB, 2 * GB, 10**6, writable=True)
    finding = sto_space.check(replace(tray(), file_systems=(ROOT, small)), tray_needs())
    assert finding.status is Status.FAIL
    assert "2.0 GB free on /envs (xfs)" in finding.observed
    assert "weights" not in finding.required


@table(
    Case("enough", Status.PASS),
    Case("too few for an environment", Status.FAIL, disk(free_inodes=50_000), says=("50000 free inodes", "81000")),
    Case("a file system without a limit", Status.PASS, disk(free_inodes=None)),
    Case("nothing new", Status.SKIP, needs=replace(tray_needs(), space=writes(0))),
    Case("not asked for", Status.UNKNOWN, replace(tray(), file_systems=())),
    Case("unreadable", Status.UNKNOWN, replace(tray(), file_systems=NO_TOOL)),
)
def test_inodes(case: Case) -> None:
    assert_host(sto_inodes, case)


READ_ONLY = disk(writable=False)


@table(
    Case("writable", Status.PASS),
    Case("only root may", Status.WARN, READ_ONLY, says=("install -d", "/var/lib/bringup")),
    Case("nobody may", Status.FAIL, change(READ_ONLY, "system", can_sudo=False)),
    Case("root itself may not: mounted read-only", Status.FAIL, change(READ_ONLY, "system", uid=0, user="root")),
    Case("nothing planned", Status.SKIP, needs=NOTHING),
    Case("not asked for", Status.UNKNOWN, replace(tray(), file_systems=())),
    Case("unreadable", Status.UNKNOWN, replace(tray(), file_systems=NO_TOOL)),
)
def test_writable(case: Case) -> None:
    assert_host(sto_writable, case)


@table(
    Case("enough", Status.PASS),
    Case("too little", Status.FAIL, change(tray(), "memory", available_bytes=100 * GIB), says=("100.0 GiB",)),
    Case(
        "held by the deployment being replaced",
        Status.WARN,
        change(tray(), "memory", available_bytes=100 * GIB),
        replace(tray_needs(), own_pids=(9,)),
    ),
    Case("recipe does not tell", Status.SKIP, needs=replace(tray_needs(), host_memory_bytes=None)),
    Case("unreadable", Status.UNKNOWN, replace(tray(), memory=NO_TOOL)),
)
def test_memory(case: Case) -> None:
    assert_host(os_memory, case)


PARTS = st.lists(st.sampled_from(["var", "lib", "bringup", "weights", "data"]), max_size=5)


@given(st.lists(PARTS, min_size=1, max_size=6), PARTS)
def test_a_path_belongs_to_the_longest_asked_parent(asked: list[list[str]], path: list[str]) -> None:
    systems = tuple(replace(ROOT, asked="/" + "/".join(parts)) for parts in asked)
    found = holding(systems, "/" + "/".join(path))
    parents = [parts for parts in asked if path[: len(parts)] == parts]
    if found is None:
        assert not parents
    else:
        assert len([part for part in found.asked.split("/") if part]) == max(map(len, parents))


@given(st.lists(st.integers(0, 10**13), max_size=8))
def test_no_planned_byte_is_lost_in_grouping(sizes: list[int]) -> None:
    spaces = tuple(Space(f"/var/lib/bringup/{i}", size, "x") for i, size in enumerate(sizes))
    mounts = spaces_by_mount((ROOT,), (*spaces, Space("/elsewhere", 7, "x")))
    assert [space.path for space in mounts.unmatched] == ["/elsewhere"]
    assert sum(space.bytes_needed for _, group in mounts.matched for space in group) == sum(sizes)
