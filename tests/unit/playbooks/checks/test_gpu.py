from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import BusGpu, Driver, GpuProcess, HostFacts, Process
from playbooks.checks import (
    gpu_count,
    gpu_driver_min,
    gpu_free_mem,
    gpu_mig,
    gpu_model,
    gpu_nvml,
    gpu_owners,
    plan_vram_fit,
)
from playbooks.checks.base import HostCheck
from playbooks.finding import Status
from playbooks.requirements import HostRequirements, MemoryForecast, Model, Processes, Requirements
from tests.unit.playbooks.checks.cases import (
    HUNG,
    NO_TOOL,
    Case,
    GangCase,
    assert_gang,
    assert_host,
    gang_table,
    table,
    text,
)
from tests.unit.playbooks.checks.gang import (
    GIB,
    alone,
    change,
    cpu_host,
    cpu_needs,
    gang_needs,
    gpu,
    gpus,
    tray,
    tray_needs,
    trays,
)

OLD_ENGINE = GpuProcess(4711, "VLLM::EngineCore", 160 * GIB)
NO_SIZE = GpuProcess(4711, "Xorg", None)


def busy(process: GpuProcess) -> HostFacts:
    return replace(tray(), gpus=gpus("tray1", process))


def said(text: str) -> HostFacts:
    return replace(tray(), gpus=Unknown(Why.REFUSED, text))


def unified(total: int, available: int) -> HostFacts:
    """One GPU that uses the host's memory."""
    facts = change(tray(), "gpus", devices=(replace(gpu(0, "tray1"), memory_bytes=None),))
    return change(facts, "memory", total_bytes=total, available_bytes=available)


ALL = (gpu_nvml, gpu_count, gpu_model, gpu_owners, gpu_free_mem, gpu_mig, gpu_driver_min)
WORKER = GpuProcess(22011, "VLLM::Worker_TP0", 160 * GIB)


def table_of(parent: str) -> HostFacts:
    """A worker below an engine core below `parent`."""
    facts = busy(WORKER)
    processes = (
        Process(21913, 1, "svc", "Fri Sep 5 10:00:00 2025", parent),
        Process(21990, 21913, "svc", "Fri Sep 5 10:01:11 2025", "VLLM::EngineCore"),
        Process(22011, 21990, "svc", "Fri Sep 5 10:01:12 2025", "VLLM::Worker_TP0"),
    )
    return replace(facts, processes=processes)


OWN = replace(tray_needs(), own_pids=(4711,))
ONE_GPU = replace(tray_needs(), gpus=(0,))
NO_MEMORY = replace(tray_needs(), memory_per_gpu_bytes=None)


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.ID)
def test_a_host_without_planned_gpus_is_skipped_with_the_reason(check: HostCheck) -> None:
    finding = check.check(cpu_host(), cpu_needs())
    assert finding.status is Status.SKIP
    assert "no GPU" in finding.observed


@pytest.mark.parametrize("check", [gpu_nvml, gpu_count, gpu_owners, gpu_mig], ids=lambda check: check.ID)
def test_a_plan_that_tells_nothing_means_all_gpus(check: HostCheck) -> None:
    nothing = replace(tray_needs(), gpus=(), processes=Processes(0, 0, 0, 0, 0))
    assert check.check(tray(), nothing).status is Status.PASS


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.ID)
def test_gpus_that_could_not_be_asked_are_unknown(check: HostCheck) -> None:
    assert check.check(replace(tray(), gpus=NO_TOOL), tray_needs()).status is Status.UNKNOWN


@table(
    Case("answers", Status.PASS, says=("580.95.05", "4 GPUs")),
    Case("simulated", Status.PASS, change(tray(), "gpus", simulated=True), says=("(simulated)",)),
    Case("hung", Status.FAIL, replace(tray(), gpus=HUNG), says=("no answer in 20 s",)),
    Case(
        "AMD's on the bus, and nothing that asks them",
        Status.UNKNOWN,
        replace(tray(), gpus=NO_TOOL, bus_gpus=(BusGpu("00000000:05:00.0", "amd", "75a3"),)),
        says=("invoke install --hosts tray1 --playbook amd",),
    ),
    Case(
        "library newer than module",
        Status.FAIL,
        said("Failed to initialize NVML: Driver/library version mismatch"),
        says=("version mismatch", "reboot"),
    ),
    Case("no module", Status.FAIL, said("couldn't communicate with the NVIDIA driver"), says=("modprobe",)),
    Case(
        "named by the reader of the facts",
        Status.FAIL,
        replace(tray(), gpus=Unknown(Why.UNREADABLE, "8 GPUs on the PCI bus; driver_not_loaded: no kernel module")),
        says=("8 GPUs on the PCI bus", "modprobe"),
    ),
    Case("refused for no known reason", Status.FAIL, said("rc 9"), says=("dmesg",)),
    Case("answer not understood", Status.UNKNOWN, replace(tray(), gpus=Unknown(Why.UNREADABLE, "no XML"))),
    Case("none", Status.FAIL, replace(tray(), gpus=replace(gpus("x"), vendor="none", driver=None, devices=()))),
    Case("without a driver", Status.FAIL, change(tray(), "gpus", driver=None, devices=()), says=("without a driver",)),
    Case("only `-L` answered: no version", Status.PASS, change(tray(), "gpus", driver=None)),
)
def test_driver(case: Case) -> None:
    assert_host(gpu_nvml, case)


@table(
    Case("all four", Status.PASS),
    Case("some of them", Status.PASS, needs=replace(tray_needs(), gpus=(2, 3))),
    Case(
        "one fell off the bus",
        Status.FAIL,
        change(tray(), "gpus", devices=tuple(gpu(i, "tray1") for i in (0, 1, 3))),
        says=("3 GPUs: 0-1,3", "4 GPUs are there: 0-3"),
    ),
    Case("none left", Status.FAIL, change(tray(), "gpus", devices=())),
    Case(
        "one on the bus that the driver does not show",
        Status.FAIL,
        change(tray(), "gpus", hidden=("00000019:01:00.0",)),
        says=("00000019:01:00.0", "reboot"),
    ),
    Case(
        "a container that is given some",
        Status.WARN,
        change(change(tray(), "gpus", hidden=("00000019:01:00.0",)), "software", container="docker"),
    ),
)
def test_count(case: Case) -> None:
    assert_host(gpu_count, case)


@table(
    Case("profile", Status.PASS, says=("'NVIDIA GB200'",)),
    Case("another GPU", Status.FAIL, needs=replace(tray_needs(), gpu_profile="gb300"), says=("'gb300'",)),
    Case("no profile", Status.SKIP, needs=replace(tray_needs(), gpu_profile=None)),
    Case("none there", Status.SKIP, change(tray(), "gpus", devices=()), says=("gpu.count",)),
)
def test_model(case: Case) -> None:
    assert_host(gpu_model, case)


@pytest.mark.parametrize(
    ("profile", "name", "fits"),
    [
        ("h100", "NVIDIA H100 80GB HBM3", True),
        ("h200", "NVIDIA H200", True),
        ("h200", "NVIDIA GH200 480GB", False),
        ("h200", "NVIDIA H20-3e", False),
        ("b200", "NVIDIA GB200", False),
        ("dgx_spark_gb10", "NVIDIA GB10", True),
        ("dgx_station_gb300", "NVIDIA GB300", True),
        ("rtx_pro_6000_8x", "NVIDIA RTX PRO 6000 Blackwell Server Edition", True),
        ("rtx_5090_2x", "NVIDIA GeForce RTX 4090", False),
        ("mi300x", "AMD Instinct MI300X OAM", True),
        ("mi325x", "AMD Instinct MI300X OAM", False),
        ("", "NVIDIA H200", False),
    ],
)
def test_profiles_fit_the_names_that_drivers_print(profile: str, name: str, fits: bool) -> None:  # noqa: FBT001
    assert gpu_model.fits(profile, name) is fits


@table(
    Case("idle", Status.PASS),
    Case("foreign", Status.FAIL, busy(OLD_ENGINE), says=("GPU 0: pid 4711 'VLLM::EngineCore'", "ps -o")),
    Case("ours, being replaced", Status.PASS, busy(OLD_ENGINE), OWN),
    Case(
        "an orphan of ours",
        Status.FAIL,
        table_of("bash"),
        says=("pid 22011", "of svc since Fri Sep 5 10:01:12 2025", "orphan", "sudo kill 21990 22011 "),
    ),
    Case(
        "an engine whose server lives",
        Status.FAIL,
        table_of("/envs/x/bin/python /envs/x/bin/vllm serve M"),
        says=("ps -o",),
    ),
    Case("on a GPU that the plan leaves alone", Status.PASS, busy(OLD_ENGINE), replace(OWN, gpus=(1,), own_pids=())),
)
def test_owners(case: Case) -> None:
    assert_host(gpu_owners, case)


def with_free(gib: int, *processes: GpuProcess) -> HostFacts:
    return change(tray(), "gpus", devices=(replace(gpu(0, "tray1", *processes), free_bytes=gib * GIB),))


def share(utilization: float) -> HostRequirements:
    return replace(ONE_GPU, memory_per_gpu_bytes=None, gpu_memory_utilization=utilization)


@table(
    Case("free", Status.PASS, says=("185.0 GiB",)),
    Case("taken", Status.FAIL, busy(OLD_ENGINE), says=("GPU 0", "25.0 GiB", "140.0 GiB")),
    Case("held by the deployment being replaced", Status.PASS, busy(OLD_ENGINE), OWN),
    Case("a process that does not tell its size", Status.UNKNOWN, busy(NO_SIZE)),
    Case("unified memory", Status.PASS, unified(200 * GIB, 150 * GIB), ONE_GPU),
    Case("unified memory, taken", Status.FAIL, unified(200 * GIB, 100 * GIB), ONE_GPU),
    Case("unified memory, unread", Status.UNKNOWN, replace(unified(1, 1), memory=NO_TOOL), ONE_GPU),
    Case("recipe does not tell", Status.SKIP, needs=NO_MEMORY),
    Case(
        "less than vLLM will claim", Status.FAIL, with_free(165), share(0.9), says=("165.0 GiB free", "utilization 0.9")
    ),
    Case("hardly more than it will claim", Status.WARN, with_free(168), share(0.9), says=("more than is asked for",)),
    Case("enough of what is free", Status.PASS, with_free(180), share(0.9)),
    Case("what ours holds will be free", Status.PASS, with_free(20, OLD_ENGINE), replace(share(0.9), own_pids=(4711,))),
    Case("too small when empty", Status.SKIP, needs=replace(ONE_GPU, memory_per_gpu_bytes=186 * GIB)),
)
def test_free_memory(case: Case) -> None:
    assert_host(gpu_free_mem, case)


@table(
    Case("fits", Status.PASS),
    Case("hardly", Status.WARN, needs=replace(tray_needs(), memory_per_gpu_bytes=170 * GIB), says=("170.0 GiB",)),
    Case("does not", Status.FAIL, needs=replace(tray_needs(), memory_per_gpu_bytes=186 * GIB), says=("185.0",)),
    Case("unified memory", Status.PASS, unified(200 * GIB, 0), ONE_GPU),
    Case("unified memory, unread", Status.UNKNOWN, replace(unified(1, 1), memory=NO_TOOL), ONE_GPU),
    Case("recipe does not tell", Status.SKIP, needs=NO_MEMORY),
)
def test_vram_fit(case: Case) -> None:
    (finding, *_) = plan_vram_fit.check({case.facts.host: case.facts}, alone(case.needs))
    assert (finding.status, finding.host) == (case.status, case.facts.host)
    for words in case.says:
        assert words in text(finding)


def needing(minimum_gb: float) -> Requirements:
    return replace(gang_needs(), model=Model(id="m", vram_minimum_gb=minimum_gb))


def known_to_fit(minimum_gb: float) -> Requirements:
    told = MemoryForecast(loads_bytes=150 * GIB, short="", certain=True, source="files")
    needs = needing(minimum_gb)
    return replace(needs, hosts=tuple(replace(one, memory_forecast=told) for one in needs.hosts))


HALF_READ = trays() | {"tray2": replace(tray("tray2"), gpus=NO_TOOL)}


@gang_table(
    GangCase("a GPU tells enough", Status.PASS),
    GangCase("together enough", Status.PASS, needs=needing(960)),
    GangCase("together too little", Status.FAIL, needs=needing(1600), says=("8 GPUs of 2 host(s)", "1600 GB for m")),
    GangCase("the model knows better", Status.WARN, needs=known_to_fit(1600), says=("1600 GB for m",)),
    GangCase("hardly room for the cache", Status.WARN, needs=needing(1500), says=("1500 GB",)),
    GangCase(
        "a host does not tell", Status.UNKNOWN, trays() | {"tray2": replace(tray("tray2"), gpus=NO_TOOL)}, needing(9999)
    ),
    GangCase("nobody has facts", Status.SKIP, {}),
)
def test_vram_fit_together(case: GangCase) -> None:
    assert_gang(plan_vram_fit, case)


@table(
    Case("off", Status.PASS),
    Case("not supported", Status.PASS, change(tray(), "gpus", devices=(replace(gpu(0, "t"), mig_enabled=None),))),
    Case("on", Status.FAIL, change(tray(), "gpus", devices=(replace(gpu(0, "t"), mig_enabled=True),))),
)
def test_mig(case: Case) -> None:
    assert_host(gpu_mig, case)


def of_driver(version: str | None) -> HostFacts:
    return change(tray(), "gpus", runtime_ceiling=None, driver=version)


def module_alone(version: str) -> HostFacts:
    return replace(tray(), gpus=HUNG, driver=Driver(module=version))


def older(name: str = "NVIDIA GB200") -> HostFacts:
    devices = (replace(gpu(0, "t"), name=name),)
    return change(tray(), "gpus", runtime_ceiling="12.9", devices=devices)


def forward() -> HostRequirements:
    return replace(tray_needs(), env=(("VLLM_ENABLE_CUDA_COMPATIBILITY", "1"),))


@table(
    Case("equal", Status.PASS),
    Case("newer driver", Status.PASS, change(tray(), "gpus", runtime_ceiling="13.1")),
    Case("older minor", Status.WARN, needs=replace(tray_needs(), gpu_runtime="13.2"), says=("13.2", "13.0")),
    Case("older major", Status.FAIL, change(tray(), "gpus", runtime_ceiling="12.9"), says=("12.9", "13.0")),
    Case("not numbers: by the driver", Status.PASS, change(tray(), "gpus", runtime_ceiling="N/A"), says=("580",)),
    Case("by the driver, below the toolkit's", Status.WARN, of_driver("580.10.01"), says=("580.65.06",)),
    Case("by the driver, below the floor", Status.FAIL, of_driver("570.124.06"), says=("580 or later",)),
    Case("no version at all", Status.UNKNOWN, of_driver(None)),
    Case("a CUDA that no table knows", Status.UNKNOWN, of_driver("580.1"), replace(tray_needs(), gpu_runtime="19.0")),
    Case("by the module alone", Status.FAIL, module_alone("550.54.14"), says=("driver 550.54.14",)),
    Case("forward compatibility asked for", Status.WARN, older(), forward(), says=("12.9",)),
    Case("forward compatibility on a GeForce", Status.FAIL, older("NVIDIA GeForce RTX 5090"), forward()),
    Case("AMD", Status.SKIP, change(tray(), "gpus", vendor="amd"), says=("rocm.versions",)),
    Case("plan does not tell", Status.SKIP, needs=replace(tray_needs(), gpu_runtime=None)),
)
def test_driver_ceiling(case: Case) -> None:
    assert_host(gpu_driver_min, case)


def forecast(loads: int | None, *, short: str = "", certain: bool = True) -> HostRequirements:
    said = MemoryForecast(loads_bytes=loads, short=short, certain=certain, source="files of 960 GB")
    return replace(tray_needs(), memory_forecast=said)


SHORT = "a request of 1,048,576 tokens takes 21 GiB of cache, and at most 7 GiB are left"


@table(
    Case(
        "both rules",
        Status.PASS,
        needs=forecast(150 * GIB),
        says=("vram_minimum_gb", "memory model 150.0 GiB", "960 GB"),
    ),
    Case("the model says no", Status.FAIL, needs=forecast(186 * GIB), says=("memory model 186.0 GiB",)),
    Case("it says so by derived figures", Status.WARN, needs=forecast(186 * GIB, certain=False)),
    Case("not one request fits", Status.FAIL, needs=forecast(150 * GIB, short=SHORT), says=("1,048,576", "FP8 cache")),
    Case("perhaps not one", Status.WARN, needs=forecast(150 * GIB, short=SHORT, certain=False), says=("FP8 cache",)),
    Case("the model knows better", Status.WARN, needs=replace(forecast(150 * GIB), memory_per_gpu_bytes=186 * GIB)),
    Case(
        "it does not know better",
        Status.FAIL,
        needs=replace(forecast(150 * GIB, certain=False), memory_per_gpu_bytes=186 * GIB),
    ),
    Case("the model knows no weights", Status.PASS, needs=forecast(None)),
    Case("only the model knows", Status.PASS, needs=replace(forecast(150 * GIB), memory_per_gpu_bytes=None)),
)
def test_vram_fit_by_the_memory_model(case: Case) -> None:
    test_vram_fit(case)
