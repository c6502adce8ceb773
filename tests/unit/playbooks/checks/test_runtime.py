"""Environments, images and containers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import Container as Running
from inventory.facts.host import Docker, FileSystem, HostFacts, Image, RunningDeployment
from playbooks.checks import (
    rt_binary_only,
    rt_cuda_mix,
    rt_docker_access,
    rt_flags,
    rt_gpu_visible,
    rt_image_digest,
    rt_image_kept,
    rt_image_platform,
    rt_image_ship,
    rt_jit_tools,
    rt_main_process,
    rt_nvml_cgroup,
    rt_python,
    rt_rank_unit,
    rt_stop_timeout,
    rt_version_lock,
    sto_docker_root,
)
from playbooks.finding import Status
from playbooks.requirements import Build, Container, Layout, Requirements
from tests.unit.playbooks.checks.cases import HUNG, NO_TOOL, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.gang import (
    ENVIRONMENT,
    GB,
    alone,
    change,
    cpu_host,
    cpu_needs,
    gang_needs,
    tray,
    tray_needs,
    trays,
    with_host,
)

DENIED = Unknown(Why.REFUSED, "permission denied while trying to connect to the docker API")
LOCKED = Build(
    python=">=3.11,<3.14", packages=(("vllm", "0.33.0"), ("torch", "2.14.0"), ("nvidia-nccl-cu13", "2.30.7"))
)
HEALTHY = (
    ("nvidia-cublas", "13.0.2.14"),
    ("nvidia-nccl-cu13", "2.30.7"),
    ("torch", "2.14.0+cu130"),
    ("vllm", "0.33.0"),
)


def needs(**fields: Any) -> Requirements:  # noqa: ANN401
    return replace(gang_needs(), **fields)


def with_packages(host: str, *packages: tuple[str, str], python: str | None = None) -> HostFacts:
    return change(tray(host), "software", environments=(replace(ENVIRONMENT, packages=packages, python=python),))


def environments(*of_tray2: tuple[str, str]) -> dict[str, HostFacts]:
    return {"tray1": with_packages("tray1", *HEALTHY), "tray2": with_packages("tray2", *of_tray2)}


@gang_table(
    GangCase("one CUDA", Status.PASS, environments(*HEALTHY), blamed=("tray1", "tray2")),
    GangCase(
        "two builds of NCCL",
        Status.WARN,
        environments(*HEALTHY, ("nvidia-nccl-cu12", "2.27.5")),
        blamed=("tray2",),
        says=("nvidia-nccl-cu12, nvidia-nccl-cu13 in one environment", "makes it anew"),
    ),
    GangCase(
        "without a suffix",
        Status.WARN,
        environments(*HEALTHY, ("nvidia-cublas-cu12", "12.8")),
        says=("nvidia-cublas-cu12",),
    ),
    GangCase(
        "both are in the lock",
        Status.PASS,
        environments(*HEALTHY, ("nvidia-x-cu12", "1"), ("nvidia-x-cu13", "1")),
        needs(build=Build(packages=(("nvidia-x-cu12", "1"), ("nvidia-x-cu13", "1")))),
    ),
    GangCase(
        "an old build next to the lock's",
        Status.WARN,
        environments(*HEALTHY, ("nvidia-nccl-cu12", "2.27.5")),
        needs(build=LOCKED),
    ),
    GangCase("only CUDA 12", Status.PASS, environments(("nvidia-cublas-cu12", "12.8"), ("nvidia-cublas", "12.8"))),
    GangCase("packages not told", Status.SKIP),
    GangCase("unreadable", Status.SKIP, {h: replace(one, software=NO_TOOL) for h, one in trays().items()}),
)
def test_cuda_mix(case: GangCase) -> None:
    assert_gang(rt_cuda_mix, case)


@gang_table(
    GangCase("the same packages, as locked", Status.PASS, environments(*HEALTHY), needs(build=LOCKED)),
    GangCase(
        "one package more",
        Status.FAIL,
        environments(*HEALTHY, ("nvidia-nccl-cu12", "2.27.5")),
        says=("tray2 has nvidia-nccl-cu12 2.27.5", "makes it anew"),
    ),
    GangCase(
        "not what is locked",
        Status.FAIL,
        environments(*HEALTHY[:-2], ("torch", "2.13.0"), HEALTHY[-1]),
        needs(build=LOCKED),
        says=("tray2 has torch 2.13.0",),
    ),
    GangCase("no version planned", Status.FAIL, environments(("vllm", "0.33.0")), needs(vllm_version="")),
    GangCase("packages not told", Status.PASS),
)
def test_packages_of_one_lock(case: GangCase) -> None:
    assert_gang(rt_version_lock, case)


def installing(*settings: tuple[str, str]) -> HostFacts:
    return replace(tray(), installer_settings=settings)


@table(
    Case("nothing said", Status.PASS, installing(("PIP_INDEX_URL", "https://mirror.example"))),
    Case("from source", Status.FAIL, installing(("PIP_NO_BINARY", ":all:")), says=("PIP_NO_BINARY=:all:",)),
    Case("nothing to install", Status.SKIP, installing(("PIP_NO_BINARY", ":all:")), replace(tray_needs(), space=())),
    Case("not asked", Status.SKIP),
    Case("unreadable", Status.UNKNOWN, replace(tray(), installer_settings=HUNG)),
)
def test_binary_only(case: Case) -> None:
    assert_host(rt_binary_only, case)


def pythons(**software: Any) -> dict[str, HostFacts]:  # noqa: ANN401
    return {host: change(one, "software", environments=(), **software) for host, one in trays().items()}


@gang_table(
    GangCase("the system's fits", Status.PASS, pythons(python="3.12.3"), needs(build=LOCKED)),
    GangCase(
        "too new", Status.FAIL, pythons(python="3.15.0"), needs(build=LOCKED), says=("3.15.0", "uv python install 3.11")
    ),
    GangCase("too old", Status.FAIL, pythons(python="3.9.2"), needs(build=LOCKED)),
    GangCase("uv finds one", Status.PASS, pythons(python="3.9.2", uv="0.9.2"), needs(build=LOCKED)),
    GangCase(
        "the environment's does not",
        Status.FAIL,
        {h: with_packages(h, python="3.9") for h in trays()},
        needs(build=LOCKED),
        says=("of the environment",),
    ),
    GangCase("none", Status.SKIP, pythons(python=None), needs(build=LOCKED)),
    GangCase("not told", Status.SKIP, pythons()),
    GangCase("an image", Status.SKIP, pythons(), needs(build=LOCKED, container=Container())),
    GangCase(
        "unreadable",
        Status.UNKNOWN,
        {h: replace(one, software=HUNG) for h, one in trays().items()},
        needs(build=LOCKED),
    ),
)
def test_python(case: GangCase) -> None:
    assert_gang(rt_python, case)


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("3.14.1", ">=3.11,<3.15", True),
        ("3.15", ">=3.11,<3.15", False),
        ("3.10", ">3.10", False),
        ("3.10", "!=3.10", False),
        ("3.10", "==3.10", True),
        ("3.10", "<=3.10", True),
        ("weird", ">=3.11", None),
    ],
)
def test_bounds_of_python(version: str, wanted: str, *, fits: bool | None) -> None:
    assert rt_python.within(version, wanted) is fits


def compilers(*paths: str) -> dict[str, HostFacts]:
    return {host: change(one, "software", compilers=paths) for host, one in trays().items()}


@gang_table(
    GangCase("a compiler", Status.PASS, compilers("/usr/local/cuda/bin/nvcc", "/usr/bin/cc"), says=("nvcc",)),
    GangCase(
        "neither",
        Status.FAIL,
        compilers("/usr/bin/cc"),
        says=("no nvcc and no compiled kernels", "vllm download-kernels"),
    ),
    GangCase(
        "in the lock",
        Status.PASS,
        pythons(compilers=()),
        needs(build=Build(packages=(("nvidia-cuda-nvcc", "13.5.37"),))),
    ),
    GangCase(
        "in the environment",
        Status.PASS,
        {h: change(with_packages(h, ("flashinfer-cubin", "0.7.2")), "software", compilers=()) for h in trays()},
    ),
    GangCase("not asked", Status.SKIP),
    GangCase("an image", Status.SKIP, compilers(), needs(container=Container())),
    GangCase("no GPU", Status.SKIP, {"tray1": cpu_host()}, alone(cpu_needs())),
    GangCase("simulated", Status.SKIP, {h: replace(one, simulated=True) for h, one in compilers().items()}),
)
def test_compilers(case: GangCase) -> None:
    assert_gang(rt_jit_tools, case)


IMAGE = Container(image="reg/vllm", digest="sha256:9bb1", layers=("l1", "l2"))
GOOD = Image("sha256:aaa1", ("reg/vllm:v1",), ("reg/vllm@sha256:9bb1",), ("l1", "l2"), "linux/arm64", 30 * GB)
LOADED = replace(GOOD, id="sha256:ccc3", tags=(), digests=())
OTHER = replace(GOOD, digests=("reg/vllm@sha256:0000",), layers=("l1", "lX"))
UNRELATED = replace(GOOD, tags=("redis:7",), digests=("redis@sha256:5",), layers=("r",))


def docker(*images: Image, host: str = "tray1", **fields: Any) -> HostFacts:  # noqa: ANN401
    return replace(tray(host), docker=Docker("/var/lib/docker", images=images, containers=(), **fields))


def dockers(*of_tray2: Image, **fields: Any) -> dict[str, HostFacts]:  # noqa: ANN401
    return {"tray1": docker(GOOD, **fields), "tray2": docker(*of_tray2, host="tray2", **fields)}


RUNS = needs(container=IMAGE)


@gang_table(
    GangCase("the same digest", Status.PASS, dockers(GOOD), RUNS, says=("by digest",)),
    GangCase("another id", Status.PASS, dockers(replace(GOOD, id="sha256:9bb1")), RUNS),
    GangCase("loaded from a file", Status.PASS, dockers(LOADED, UNRELATED), RUNS),
    GangCase(
        "loaded, layers by another host", Status.PASS, dockers(LOADED), needs(container=replace(IMAGE, layers=()))
    ),
    GangCase(
        "other layers",
        Status.FAIL,
        dockers(OTHER),
        RUNS,
        blamed=("tray2",),
        says=("sha256:0000", "docker pull reg/vllm@sha256:9bb1"),
    ),
    GangCase("not there yet", Status.PASS, dockers(UNRELATED), RUNS, blamed=("tray1",)),
    GangCase("by tag", Status.PASS, dockers(GOOD), needs(container=Container(image="reg/vllm:v1"))),
    GangCase(
        "tag of another build",
        Status.FAIL,
        dockers(OTHER),
        needs(container=Container(image="reg/vllm:v1")),
        blamed=("tray2",),
    ),
    GangCase("no image", Status.SKIP, dockers(GOOD)),
    GangCase(
        "no docker",
        Status.UNKNOWN,
        dockers(GOOD) | {"tray2": replace(tray("tray2"), docker=DENIED)},
        RUNS,
        blamed=("tray2",),
    ),
    GangCase("not asked", Status.SKIP, trays(), RUNS),
)
def test_image(case: GangCase) -> None:
    assert_gang(rt_image_digest, case)


@pytest.mark.parametrize(
    ("image", "repository"),
    [
        ("reg:5000/a/vllm:v1@sha256:1", "reg:5000/a/vllm"),
        ("vllm:v1", "vllm"),
        ("reg:5000/vllm", "reg:5000/vllm"),
        ("vllm", "vllm"),
    ],
)
def test_the_repository_of_an_image(image: str, repository: str) -> None:
    assert rt_image_digest.repository_of(image) == repository


@gang_table(
    GangCase("has it", Status.PASS, needs=needs(container=Container(platforms=("linux/amd64", "linux/arm64")))),
    GangCase(
        "lacks it",
        Status.FAIL,
        needs=needs(container=Container(platforms=("linux/amd64",))),
        says=("amd64", "aarch64 (arm64)"),
    ),
    GangCase("not told", Status.SKIP, needs=needs(container=Container())),
    GangCase("no container", Status.SKIP),
    GangCase(
        "unreadable",
        Status.UNKNOWN,
        {h: replace(one, system=HUNG) for h, one in trays().items()},
        needs(container=Container(platforms=("linux/amd64",))),
    ),
)
def test_platform(case: GangCase) -> None:
    assert_gang(rt_image_platform, case)


@gang_table(
    GangCase("answers", Status.PASS, dockers(), RUNS),
    GangCase(
        "denied",
        Status.FAIL,
        {h: replace(one, docker=DENIED) for h, one in trays().items()},
        RUNS,
        says=("usermod -aG docker",),
    ),
    GangCase(
        "not there",
        Status.FAIL,
        {h: replace(one, docker=NO_TOOL) for h, one in trays().items()},
        RUNS,
        says=("install docker",),
    ),
    GangCase("silent", Status.UNKNOWN, {h: replace(one, docker=HUNG) for h, one in trays().items()}, RUNS),
    GangCase("not asked", Status.SKIP, trays(), RUNS),
    GangCase("no container", Status.SKIP, dockers()),
)
def test_access(case: GangCase) -> None:
    assert_gang(rt_docker_access, case)


SYSTEMD = {"cgroup_driver": "systemd", "cgroup_version": "2"}
WITH_CDI = {h: change(one, "software", cdi_specs=("/etc/cdi/nvidia.yaml",)) for h, one in dockers(**SYSTEMD).items()}


@gang_table(
    GangCase("CDI", Status.PASS, WITH_CDI, RUNS),
    GangCase("cgroupfs", Status.PASS, dockers(cgroup_driver="cgroupfs", cgroup_version="2"), RUNS),
    GangCase(
        "devices by path",
        Status.PASS,
        dockers(**SYSTEMD),
        needs(container=Container(arguments=("--device", "/dev/nvidia0"))),
    ),
    GangCase("at risk", Status.WARN, dockers(**SYSTEMD), RUNS, says=("systemd", "nvidia-ctk cdi generate")),
    GangCase("driver not told", Status.SKIP, dockers(), RUNS),
    GangCase("AMD", Status.SKIP, {h: change(one, "gpus", vendor="amd") for h, one in dockers(**SYSTEMD).items()}, RUNS),
    GangCase("no container", Status.SKIP, dockers(**SYSTEMD)),
    GangCase("unreadable", Status.UNKNOWN, {h: replace(one, docker=HUNG) for h, one in trays().items()}, RUNS),
)
def test_cgroup_driver(case: GangCase) -> None:
    assert_gang(rt_nvml_cgroup, case)


FULL = (
    *("--gpus", "all", "--network", "host", "--ipc=host", "--ulimit", "memlock=-1:-1", "--cap-add", "IPC_LOCK"),
    *("--device", "/dev/infiniband", "--device=/dev/nvidia-caps-imex-channels/channel0", "--cap-add=SYS_NICE"),
)
BARE = ("--gpus", "all", "--network", "host", "--ipc", "host")
NUMA = tuple(replace(one, numa_bind=True) for one in gang_needs().hosts)


def given(*arguments: str, **fields: Any) -> Requirements:  # noqa: ANN401
    return needs(container=Container(arguments=arguments), **fields)


@gang_table(
    GangCase("everything", Status.PASS, needs=given(*FULL, rdma=True, mnnvl=True, hosts=NUMA)),
    GangCase("bare is enough for TCP", Status.PASS, needs=given(*BARE, rdma=False)),
    GangCase("RDMA", Status.FAIL, needs=given(*BARE, rdma=True), says=("/dev/infiniband", "memlock=-1", "IPC_LOCK")),
    GangCase(
        "privileged needs the limit alone",
        Status.FAIL,
        needs=given(*BARE, "--privileged", rdma=True),
        says=("container lacks --ulimit memlock=-1",),
    ),
    GangCase("NVLink between trays", Status.FAIL, needs=given(*BARE, mnnvl=True), says=("imex-channels",)),
    GangCase("NUMA", Status.FAIL, needs=given(*BARE, hosts=NUMA), says=("SYS_NICE",)),
    GangCase("no network", Status.FAIL, needs=given("--ipc=host"), says=("--network host",)),
    GangCase("no shared memory", Status.FAIL, needs=given("--net=host"), says=("--ipc host",)),
    GangCase(
        "a published port, alone", Status.PASS, needs=given("-p", "8000:8000", "--shm-size=32g", layout=Layout(nodes=1))
    ),
    GangCase("AMD", Status.FAIL, needs=given(*BARE, hardware="mi355x"), says=("/dev/kfd", "/dev/dri", "--group-add")),
    GangCase(
        "AMD with all",
        Status.PASS,
        needs=given(*BARE, "--device=/dev/kfd", "--device=/dev/dri", "--group-add", "44", hardware="mi355x"),
    ),
    GangCase("not told", Status.SKIP, needs=needs(container=Container())),
    GangCase("no container", Status.SKIP),
)
def test_flags(case: GangCase) -> None:
    assert_gang(rt_flags, case)


def deployment(name: str, *paths: str) -> RunningDeployment:
    cgroups = tuple((100 + at, path) for at, path in enumerate(paths))
    return RunningDeployment(name, "g1", head=True, state="running", supervisor="systemd", pids=(100,), cgroups=cgroups)


UNIT = "/system.slice/bringup-v4.service"


def running(*deployments: RunningDeployment) -> HostFacts:
    return replace(tray(), deployments=deployments)


@table(
    Case("its own unit", Status.PASS, running(deployment("v4", UNIT, UNIT))),
    Case(
        "a session",
        Status.WARN,
        running(deployment("v4", "/user.slice/user-0.slice/session-3.scope")),
        says=("session-3.scope",),
    ),
    Case(
        "a scope", Status.FAIL, running(deployment("v4", "/system.slice/run-r1.scope")), says=("limits cannot be set",)
    ),
    Case("shared", Status.FAIL, running(deployment("v4", UNIT), deployment("b", UNIT)), says=("v4 and b share",)),
    Case("nothing runs", Status.SKIP),
    Case("unreadable", Status.UNKNOWN, replace(tray(), deployments=HUNG)),
)
def test_rank_unit(case: Case) -> None:
    assert_host(rt_rank_unit, case)


def stopping(planned: int | None, *, drain: int = 120, **fields: Any) -> Requirements:  # noqa: ANN401
    return needs(container=Container(image="i", stop_timeout_s=planned), shutdown_timeout_s=drain, name="v4", **fields)


def with_container(timeout: int | None, name: str = "", image: str = "") -> dict[str, HostFacts]:
    one = Running(name, image, timeout, ("vllm", "serve"))
    return {h: replace(tray(h), docker=Docker("/d", containers=(one,))) for h in trays()}


@gang_table(
    GangCase("long enough", Status.PASS, needs=stopping(180)),
    GangCase(
        "docker's own",
        Status.WARN,
        needs=stopping(None),
        says=("killed after 10 s", "--shutdown-timeout 120", "--stop-timeout 180"),
    ),
    GangCase("too close", Status.WARN, needs=stopping(150)),
    GangCase("AMD", Status.FAIL, needs=stopping(None, hardware="mi300x")),
    GangCase(
        "one that runs",
        Status.WARN,
        with_container(None),
        stopping(180),
        says=("default of docker", "docker stop -t 180"),
    ),
    GangCase("one of another", Status.PASS, with_container(None, "redis", "redis:7"), stopping(180)),
    GangCase("ours by image", Status.WARN, with_container(60, "x", "i"), stopping(180), says=("killed after 60 s",)),
    GangCase("a unit", Status.PASS, needs=needs(shutdown_timeout_s=0, stop_timeout_s=60)),
    GangCase(
        "a unit, too close",
        Status.WARN,
        needs=needs(shutdown_timeout_s=60, stop_timeout_s=60),
        says=("TimeoutStopSec=120",),
    ),
    GangCase("not told", Status.SKIP, needs=needs(shutdown_timeout_s=60)),
)
def test_stop_timeout(case: GangCase) -> None:
    assert_gang(rt_stop_timeout, case)


@gang_table(
    GangCase("a release", Status.PASS, dockers(UNRELATED), RUNS, says=("to be pulled on tray2",)),
    GangCase(
        "a nightly",
        Status.WARN,
        dockers(),
        needs(container=Container(image="reg/vllm:nightly-abc")),
        says=("nightly", "docker save"),
    ),
    GangCase("no image", Status.SKIP, dockers()),
)
def test_image_kept(case: GangCase) -> None:
    assert_gang(rt_image_kept, case)


def on_disk(free: int, *of_tray2: Image) -> dict[str, HostFacts]:
    disks = (
        FileSystem("/", "/", "ext4", 2000 * GB, 2000 * GB, None, writable=True),
        FileSystem("/var", "/var", "ext4", free, free, None, writable=True),
    )
    return {h: replace(one, file_systems=disks) for h, one in dockers(*of_tray2).items()}


SIZED = needs(container=replace(IMAGE, compressed_bytes=15 * GB))


@gang_table(
    GangCase("room", Status.PASS, on_disk(100 * GB), SIZED, says=("/var",)),
    GangCase(
        "a small /var", Status.FAIL, on_disk(20 * GB), SIZED, blamed=("tray2",), says=("/var", "45.0 GB", "data-root")
    ),
    GangCase("there already", Status.PASS, on_disk(20 * GB, GOOD), SIZED),
    GangCase("size not told", Status.SKIP, on_disk(20 * GB), RUNS),
    GangCase(
        "not told what it lies on",
        Status.UNKNOWN,
        {h: replace(one, file_systems=()) for h, one in on_disk(1).items()},
        SIZED,
        blamed=("tray2",),
    ),
    GangCase("no docker", Status.UNKNOWN, {h: replace(one, docker=DENIED) for h, one in trays().items()}, SIZED),
    GangCase("not asked", Status.SKIP, trays(), SIZED),
)
def test_docker_root(case: GangCase) -> None:
    assert_gang(sto_docker_root, case)


@gang_table(
    GangCase("room", Status.PASS, on_disk(100 * GB), SIZED, blamed=("tray2",)),
    GangCase("no room", Status.FAIL, on_disk(20 * GB), SIZED, blamed=("tray2",), says=("docker save",)),
    GangCase("all have it", Status.SKIP, on_disk(20 * GB, GOOD), SIZED),
    GangCase("size not told", Status.SKIP, on_disk(20 * GB), RUNS),
    GangCase("no container", Status.SKIP, on_disk(20 * GB)),
)
def test_image_ship(case: GangCase) -> None:
    assert_gang(rt_image_ship, case)


def commanded(*words: str) -> dict[str, HostFacts]:
    one = Running("v4", "", 60, words)
    return {h: replace(tray(h), docker=Docker("/d", containers=(one,))) for h in trays()}


@gang_table(
    GangCase("the rank", Status.PASS, commanded("/opt/bin/vllm", "serve"), stopping(180)),
    GangCase("a shell that becomes it", Status.PASS, commanded("/bin/sh", "-c", "exec vllm serve m"), stopping(180)),
    GangCase(
        "an init that passes signals on", Status.PASS, commanded("/sbin/docker-init", "--", "vllm"), stopping(180)
    ),
    GangCase(
        "a shell", Status.FAIL, commanded("bash", "-c", "vllm serve m; sleep 1"), stopping(180), says=("bash -c",)
    ),
    GangCase("a sleep", Status.FAIL, commanded("sleep", "infinity"), stopping(180), says=("sleep infinity",)),
    GangCase(
        "in the plan",
        Status.FAIL,
        needs=with_host(stopping(180), "tray2", argv=("sleep", "inf")),
        says=("the planned rank",),
    ),
    GangCase("nothing known", Status.SKIP, needs=stopping(180)),
    GangCase("no container", Status.SKIP),
)
def test_main_process(case: GangCase) -> None:
    assert_gang(rt_main_process, case)


def shown(gpus: tuple[int, ...] = (0, 1, 2, 3), **env: str) -> Any:  # noqa: ANN401
    return replace(tray_needs(), gpus=gpus, env=tuple(env.items()))


AMD_TRAY = change(tray(), "gpus", vendor="amd")


@table(
    Case("all", Status.PASS, says=("0, 1, 2, 3",)),
    Case("all, in so many words", Status.PASS, needs=shown(CUDA_VISIBLE_DEVICES="0,1,2,3")),
    Case("some", Status.PASS, needs=shown((2, 3), CUDA_VISIBLE_DEVICES="2,3")),
    Case("by UUID", Status.PASS, needs=shown((1,), CUDA_VISIBLE_DEVICES="GPU-tray1-1")),
    Case("not told which", Status.FAIL, needs=shown((2, 3)), says=("ranks see GPUs 0, 1, 2, 3", "GPUs 2-3")),
    Case("another order", Status.FAIL, needs=shown((0, 1), CUDA_VISIBLE_DEVICES="1,0")),
    Case("none", Status.FAIL, needs=shown(CUDA_VISIBLE_DEVICES=""), says=("none",)),
    Case("one that is not there", Status.FAIL, needs=shown(CUDA_VISIBLE_DEVICES="0,7"), says=("not there",)),
    Case(
        "one after the other", Status.PASS, AMD_TRAY, shown((3,), ROCR_VISIBLE_DEVICES="2,3", HIP_VISIBLE_DEVICES="1")
    ),
    Case("no GPU planned", Status.SKIP, needs=cpu_needs()),
    Case("unreadable", Status.UNKNOWN, replace(tray(), gpus=HUNG)),
)
def test_visible_gpus(case: Case) -> None:
    assert_host(rt_gpu_visible, case)
