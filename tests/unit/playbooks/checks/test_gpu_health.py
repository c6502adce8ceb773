"""What the driver, the kernel's log and the GPUs themselves report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.facts.base import NOT_ASKED, Unknown, Why
from inventory.facts.host import NO_HEALTH, Driver, HostFacts, Library, Xid
from playbooks.checks import (
    gpu_arch_in_build,
    gpu_compat_shadow,
    gpu_mem_spread,
    gpu_next_kernel,
    gpu_nvml_match,
    gpu_power_uniform,
    gpu_recovery_action,
    gpu_remap,
    gpu_throttle,
    gpu_uniform,
    gpu_xid,
)
from playbooks.checks.base import HostCheck
from playbooks.finding import Status
from playbooks.requirements import Build, HostRequirements
from tests.unit.playbooks.checks.cases import HUNG, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.gang import GIB, change, cpu_host, cpu_needs, known, tray_needs
from tests.unit.playbooks.checks.rack import rack, rack_needs, rack_tray

HOST = (
    gpu_nvml_match,
    gpu_compat_shadow,
    gpu_xid,
    gpu_remap,
    gpu_recovery_action,
    gpu_throttle,
    gpu_mem_spread,
    gpu_next_kernel,
)
REFUSED = Unknown(Why.REFUSED, "dmesg: read kernel buffer failed: Operation not permitted")


@pytest.mark.parametrize("check", HOST, ids=lambda check: check.ID)
def test_a_healthy_tray_passes(check: HostCheck) -> None:
    assert check.check(rack_tray(), tray_needs()).status is Status.PASS


@pytest.mark.parametrize("check", HOST, ids=lambda check: check.ID)
def test_a_plan_without_gpus_is_skipped(check: HostCheck) -> None:
    assert check.check(cpu_host(), cpu_needs()).status is Status.SKIP


@pytest.mark.parametrize("check", HOST, ids=lambda check: check.ID)
def test_what_was_not_asked_refuses_nothing(check: HostCheck) -> None:
    """Bundles of earlier versions have none of these facts."""
    facts = rack_tray()
    bare = tuple(replace(one, health=NO_HEALTH, free_bytes=None) for one in known(facts.gpus).devices)
    old = change(replace(facts, driver=NOT_ASKED, xids=NOT_ASKED), "gpus", devices=bare)
    assert check.check(old, tray_needs()).status in {Status.SKIP, Status.PASS}


def driver(**fields: object) -> HostFacts:
    return change(rack_tray(), "driver", **fields)


MISMATCH = replace(
    rack_tray(),
    gpus=Unknown(Why.UNREADABLE, "driver_library_mismatch: kernel module and user-space library differ"),
    driver=Driver(module="460.56"),
)


@table(
    Case("equal", Status.PASS, driver()),
    Case("the file is newer than the module", Status.FAIL, driver(library="580.105.08"), says=("580.105.08", "reboot")),
    Case("the tool says so", Status.FAIL, MISMATCH, says=("module 460.56", "reboot", "mismatch")),
    Case("no module is told", Status.SKIP, driver(module=None)),
    Case("the library is not told", Status.SKIP, driver(library=None), says=("580.95.05",)),
    Case("the GPUs hang", Status.PASS, replace(rack_tray(), gpus=HUNG)),
)
def test_nvml_match(case: Case) -> None:
    assert_host(gpu_nvml_match, case)


OWN = Library("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "580.95.05")


def compat(version: str | None) -> Library:
    return Library("/usr/local/cuda/compat/libcuda.so.1", version)


SWITCHED = replace(tray_needs(), env=(("VLLM_ENABLE_CUDA_COMPATIBILITY", "1"),))


@table(
    Case("the driver's own", Status.PASS, driver(libcuda=(OWN,))),
    Case("behind the driver's own", Status.PASS, driver(libcuda=(OWN, compat("570.86.10")))),
    Case("older and first", Status.FAIL, driver(libcuda=(compat("570.86.10"), OWN)), says=("compat", "570.86.10")),
    Case("of unknown version and first", Status.FAIL, driver(libcuda=(compat(None), OWN)), says=("not told",)),
    Case("newer and first", Status.PASS, driver(libcuda=(compat("590.44.01"), OWN))),
    Case("none", Status.SKIP, driver(libcuda=())),
    Case("not asked", Status.SKIP, driver(libcuda=None)),
    Case(
        "switched on for nothing", Status.FAIL, rack_tray(), SWITCHED, says=("VLLM_ENABLE_CUDA_COMPATIBILITY", "13.0")
    ),
    Case("switched on for a newer CUDA", Status.PASS, rack_tray(), replace(SWITCHED, gpu_runtime="13.1")),
)
def test_compat_shadow(case: Case) -> None:
    assert_host(gpu_compat_shadow, case)


def log(*errors: Xid) -> HostFacts:
    return replace(rack_tray(), xids=errors)


def xid(code: int | None, gpu: str = "0002:01:00", age: float | None = 7200.0) -> Xid:
    return Xid(code, gpu, age, "text of it")


GRAVE = (48, 64, 74, 79, 94, 95, 119, 120, 149, 154)
ONE = replace(tray_needs(), gpus=(0, 1))


@table(
    Case("none", Status.PASS, rack_tray()),
    *(
        Case(f"{code}", Status.FAIL, log(xid(code)), says=(f"Xid {code} on 0002:01:00",))
        for code in (48, 64, 74, 79, 95)
    ),
    *(Case(f"{code}", Status.FAIL, log(xid(code)), says=("0002:01:00",)) for code in (94, 119, 120, 149, 154)),
    Case(
        "fell off the bus, and is not shown any more", Status.FAIL, log(xid(None, "0019:01:00")), says=("0019:01:00",)
    ),
    Case("63, remapped and done", Status.PASS, log(xid(63))),
    Case("63, waiting", Status.FAIL, replace(rack_tray(remap_pending=True), xids=(xid(63),)), says=("Xid 63",)),
    Case("on a GPU that the plan leaves alone", Status.WARN, log(xid(48)), ONE, says=("Xid 48",)),
    Case("of a program, now", Status.WARN, log(xid(31, age=60.0)), says=("Xid 31",)),
    Case("of a program, time not told", Status.WARN, log(xid(13, age=None))),
    Case("of a program, long ago", Status.PASS, log(xid(43))),
    Case("a code that means nothing here", Status.PASS, log(xid(137))),
    Case("many", Status.FAIL, log(*(xid(48, age=float(n)) for n in range(5))), says=("2 more before",)),
    Case("may not be read", Status.WARN, replace(rack_tray(), xids=REFUSED), says=("adm",)),
    Case("hung", Status.SKIP, replace(rack_tray(), xids=HUNG)),
    Case("AMD", Status.SKIP, change(rack_tray(), "gpus", vendor="amd")),
)
def test_xid(case: Case) -> None:
    assert_host(gpu_xid, case)


def grown(rows: int) -> HostRequirements:
    return replace(tray_needs(), earlier=rack_tray(remapped_rows=rows))


@table(
    Case("failed", Status.FAIL, rack_tray(remap_failure=True), says=("GPU 2", "RMA")),
    Case("uncorrectable", Status.FAIL, rack_tray(uncorrectable_errors=3), says=("GPU 2: 3 uncorrectable",)),
    Case("pending", Status.WARN, rack_tray(remap_pending=True, remapped_rows=12), says=("GPU 2", "pending", "reboot")),
    Case("grew", Status.WARN, rack_tray(remapped_rows=12), grown(4), says=("GPU 2: 12 rows remapped, 4 on",)),
    Case("as before", Status.PASS, rack_tray(remapped_rows=12), grown(12)),
    Case("no record", Status.PASS, rack_tray(remapped_rows=12)),
    Case("the record does not tell", Status.PASS, rack_tray(remapped_rows=1), replace(grown(0), earlier=cpu_host())),
    Case("none of the planned is there", Status.SKIP, rack_tray(), replace(tray_needs(), gpus=(9,))),
)
def test_remap(case: Case) -> None:
    assert_host(gpu_remap, case)


@table(
    Case("reset", Status.FAIL, rack_tray(recovery_action="Reset"), says=("GPU 2", "Reset")),
    Case("drain", Status.FAIL, rack_tray(recovery_action="Drain P2P"), says=("Drain P2P",)),
    Case("not supported on one", Status.PASS, rack_tray(recovery_action="N/A")),
    Case("the GPUs hang", Status.SKIP, replace(rack_tray(), gpus=HUNG), says=("gpu.nvml",)),
)
def test_recovery_action(case: Case) -> None:
    assert_host(gpu_recovery_action, case)


@table(
    Case("hot", Status.WARN, rack_tray(slowdowns=("hw_slowdown", "hw_thermal_slowdown")), says=("GPU 2: hw_slowdown",)),
    Case("not told by one", Status.PASS, rack_tray(slowdowns=None), says=("3 GPUs",)),
)
def test_throttle(case: Case) -> None:
    assert_host(gpu_throttle, case)


def with_free(*gib: int | None) -> HostFacts:
    facts = rack_tray()
    devices = zip(known(facts.gpus).devices, gib, strict=True)
    return change(facts, "gpus", devices=tuple(replace(g, free_bytes=size and size * GIB) for g, size in devices))


@table(
    Case("even", Status.PASS, with_free(180, 181, 180, 181), says=("180.0 GiB",)),
    Case("one has less", Status.WARN, with_free(180, 181, 170, 181), says=("GPU 2 has 170.0 GiB", "drop_caches")),
    Case("one tells", Status.SKIP, with_free(180, None, None, None)),
)
def test_mem_spread(case: Case) -> None:
    assert_host(gpu_mem_spread, case)


@table(
    Case("has it", Status.PASS, driver(next_kernel="6.8.0-70-generic")),
    Case(
        "lacks it",
        Status.WARN,
        driver(next_kernel="6.8.0-70-generic", next_kernel_module=False),
        says=("6.8.0-70-generic", "6.8.0-64-generic-64k", "dkms"),
    ),
    Case("is the running one", Status.PASS, driver(next_kernel_module=False)),
    Case("no kernels are told", Status.SKIP, driver(next_kernel=None)),
)
def test_next_kernel(case: Case) -> None:
    assert_host(gpu_next_kernel, case)


@gang_table(
    GangCase("even", Status.PASS, rack()),
    GangCase("less power", Status.WARN, rack(power_limit_w=1000.0), says=("tray2 GPU 2: 1000 W, most have 1200 W",)),
    GangCase("lower clock", Status.WARN, rack(clock_max_mhz=1700), says=("1700 MHz",)),
    GangCase("within 5 %", Status.PASS, rack(power_limit_w=1180.0)),
    GangCase("nobody tells", Status.SKIP),
)
def test_power_uniform(case: GangCase) -> None:
    assert_gang(gpu_power_uniform, case)


@gang_table(
    GangCase("same", Status.PASS, rack()),
    GangCase("another vbios", Status.WARN, rack(vbios="97.00.B9.00.70"), says=("97.00.B9.00.70", "tray2")),
)
def test_uniform_firmware(case: GangCase) -> None:
    assert_gang(gpu_uniform, case)


def of_arch(*built: str) -> GangCase:
    return GangCase("", Status.FAIL, rack(), rack_needs(build=Build(architectures=built)))


@gang_table(
    GangCase("has it", Status.PASS, rack(), rack_needs()),
    replace(of_arch("9.0", "12.0"), name="lacks it", says=("is 10.0", "9.0 12.0")),
    GangCase("no list", Status.SKIP, rack(), rack_needs(build=Build())),
    GangCase("no GPU is known", Status.SKIP, {"tray1": replace(rack_tray(), gpus=HUNG)}, rack_needs()),
)
def test_arch_in_build(case: GangCase) -> None:
    assert_gang(gpu_arch_in_build, case)


@pytest.mark.parametrize(
    ("entry", "capability", "runs"),
    [
        ("10.0", "10.0", True),
        ("10.0", "10.3", False),
        ("10.0f", "10.3", True),
        ("10.3", "10.0", False),
        ("12.0", "12.1", False),
        ("12.0f", "12.1", True),
        ("9.0a", "9.0", True),
        ("9.0a", "9.1", False),
        ("8.0", "8.6", True),
        ("8.6", "8.0", False),
        ("8.0", "9.0", False),
        ("9.0+PTX", "12.0", True),
        ("sm_100", "10.0", True),
        ("sm_90a", "9.0", True),
        ("gfx942", "gfx942:sramecc+:xnack-", True),
        ("gfx942", "gfx950", False),
        ("10.0", "gfx950", False),
    ],
)
def test_what_runs_where(entry: str, capability: str, runs: bool) -> None:  # noqa: FBT001
    assert gpu_arch_in_build.runs_on(entry, capability) is runs
