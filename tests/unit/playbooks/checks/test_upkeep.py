"""Updates, reboots, compilers, mounts, logs and load of hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inventory.facts.base import NOT_ASKED, Unknown, Why
from inventory.facts.host import (
    Busy,
    Driver,
    Environment,
    Gpus,
    HostFacts,
    Load,
    Mount,
    RunningDeployment,
    Toolchain,
    Updates,
)
from playbooks.checks import (
    cpu_contention,
    os_auto_update,
    os_compiler,
    os_exec_dirs,
    os_glibc,
    os_log_path,
    os_oom_history,
    os_pending_reboot,
)
from playbooks.finding import Status
from playbooks.requirements import Build, Container, Requirements
from tests.unit.playbooks.checks.cases import HUNG, NO_TOOL, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.gang import alone, change, cpu_needs, gang_needs, tray, tray_needs

ALL = ("nvidia-", "libnvidia-", "cuda-", "linux-image")
DOCKER = replace(gang_needs(), container=Container("image", arguments=()))


def kept(**fields: Any) -> HostFacts:  # noqa: ANN401
    return replace(tray(), updates=Updates(**fields))


def of_amd(family: str = "debian", **fields: Any) -> HostFacts:  # noqa: ANN401
    return change(
        replace(kept(**fields), gpus=Gpus("amd", "6.14.14", None, (), simulated=False)), "system", family=family
    )


@table(
    Case("none", Status.PASS, kept(automatic=False)),
    Case("all left out", Status.PASS, kept(automatic=True, excluded=ALL)),
    Case(
        "nothing left out",
        Status.WARN,
        kept(automatic=True),
        says=("nvidia-driver, libnvidia-compute", "apt-mark hold"),
    ),
    Case("the kernel is not", Status.WARN, kept(automatic=True, excluded=ALL[:3]), says=("linux-image too",)),
    Case("held", Status.PASS, kept(automatic=True, excluded=ALL[1:], held=("nvidia-driver-580",))),
    Case("by a pattern", Status.PASS, kept(automatic=True, excluded=("(lib)?nvidia", "cuda.*", "linux-.*"))),
    Case("by no pattern at all", Status.WARN, kept(automatic=True, excluded=("*", "["))),
    Case("AMD's driver", Status.PASS, of_amd(automatic=True, excluded=("amdgpu-dkms", "linux-image"))),
    Case("AMD's is not", Status.WARN, of_amd(automatic=True), says=("amdgpu-dkms, linux-image", "--playbook tuning")),
    Case("RHEL", Status.PASS, of_amd("rhel", automatic=True, excluded=("kernel*",), held=("amdgpu-dkms",))),
    Case(
        "RHEL's kernel is not",
        Status.WARN,
        of_amd("rhel", automatic=True, held=("amdgpu-dkms",)),
        says=("kernel-core",),
    ),
    Case("no GPU", Status.SKIP, kept(automatic=True), cpu_needs()),
    Case("not told", Status.SKIP, kept(automatic=None)),
    Case("unknown", Status.SKIP, replace(tray(), updates=HUNG)),
)
def test_auto_update(case: Case) -> None:
    assert_host(os_auto_update, case)


UPGRADED = ("libnvidia-compute-580 580.105.08-0ubuntu1",)


def loaded(module: str) -> HostFacts:
    return replace(kept(upgraded_since_boot=UPGRADED), driver=Driver(module=module))


@table(
    Case("nothing", Status.PASS, kept(wants_reboot=False, kernels=("6.8.0-64-generic-64k",))),
    Case("wanted", Status.WARN, kept(wants_reboot=True, reboot_packages=("libc6",)), says=("by libc6", "reboot")),
    Case(
        "a newer kernel",
        Status.WARN,
        kept(kernels=("6.8.0-64-generic-64k", "6.8.0-100-generic-64k")),
        says=("6.8.0-100-generic-64k is installed",),
    ),
    Case("a newer kernel of another kind", Status.PASS, kept(kernels=("6.8.0-64-generic-64k", "6.8.0-100-generic"))),
    Case("older kernels", Status.PASS, kept(kernels=("6.8.0-9-generic-64k", "6.8.0-64-generic-64k"))),
    Case(
        "the driver's libraries",
        Status.FAIL,
        kept(upgraded_since_boot=UPGRADED),
        says=("580.105.08", "an older module"),
    ),
    Case("and the old module", Status.FAIL, loaded("580.95.05"), says=("loaded is 580.95.05",)),
    Case("whose module was loaded anew", Status.PASS, loaded("580.105.08")),
    Case("where no GPU is planned", Status.PASS, kept(upgraded_since_boot=UPGRADED), cpu_needs()),
    Case("only a kernel", Status.PASS, kept(upgraded_since_boot=("linux-image-6.8.0-90-generic 6.8.0-90.91",))),
    Case("unknown", Status.SKIP, replace(tray(), updates=NO_TOOL)),
)
def test_pending_reboot(case: Case) -> None:
    assert_host(os_pending_reboot, case)


def builds(compiler: str | None = "cc 13.3.0", fault: str = "", **headers: bool) -> dict[str, HostFacts]:
    folders = tuple((f"/var/lib/bringup/envs/{digest}", has) for digest, has in headers.items())
    return {host: replace(tray(host), toolchain=Toolchain(compiler, fault, folders)) for host in ("tray1", "tray2")}


IN_D1 = replace(gang_needs(), environment="d1")
STAND_IN = (Environment("d1", "0.33.0", complete=True, simulated=True),)


@gang_table(
    GangCase("all there", Status.PASS, builds(d1=True), IN_D1),
    GangCase("no compiler", Status.FAIL, builds(None), says=("no C compiler", "apt-get install gcc")),
    GangCase("no headers of C", Status.FAIL, builds(fault="fatal error: stddef.h: No such file"), says=("stddef.h",)),
    GangCase("no headers of Python", Status.FAIL, builds(d1=False), IN_D1, says=("Python.h", "python3-dev")),
    GangCase("of another environment", Status.PASS, builds(d2=False), IN_D1),
    GangCase(
        "of a stand-in",
        Status.PASS,
        {host: change(facts, "software", environments=STAND_IN) for host, facts in builds(d1=False).items()},
        IN_D1,
    ),
    GangCase("a trial on CPUs", Status.WARN, builds(None), alone(cpu_needs())),
    GangCase("a container", Status.SKIP, builds(None), DOCKER),
    GangCase("unknown", Status.SKIP, {"tray1": replace(tray(), toolchain=HUNG)}, alone(tray_needs())),
)
def test_compiler(case: GangCase) -> None:
    assert_gang(os_compiler, case)


def mounted(*mounts: Mount) -> dict[str, HostFacts]:
    root = Mount("/", "ext4", "/dev/nvme0n1p2", ("rw",))
    return {"tray1": replace(tray(), mounts=(root, *mounts), file_systems=NOT_ASKED)}


def with_env(*pairs: tuple[str, str]) -> Requirements:
    return alone(replace(tray_needs(), env=pairs))


HARDENED = Mount("/tmp", "tmpfs", "tmpfs", ("rw", "nosuid", "nodev", "noexec"))
CACHE = Mount("/var/cache", "ext4", "/dev/sdb", ("rw", "noexec"))


@gang_table(
    GangCase("one disk", Status.PASS, mounted(), with_env()),
    GangCase("/tmp", Status.FAIL, mounted(HARDENED), with_env(), says=("TMPDIR (/tmp) lies on /tmp, mounted noexec",)),
    GangCase("TMPDIR is elsewhere", Status.PASS, mounted(HARDENED), with_env(("TMPDIR", "/data/tmp"))),
    GangCase(
        "a cache",
        Status.FAIL,
        mounted(CACHE),
        with_env(("VLLM_CACHE_ROOT", "/var/cache/vllm")),
        says=("VLLM_CACHE_ROOT",),
    ),
    GangCase("beside it", Status.PASS, mounted(CACHE), with_env(("VLLM_CACHE_ROOT", "/var/cached"))),
    GangCase(
        "covered by a later mount", Status.PASS, mounted(HARDENED, replace(HARDENED, options=("rw",))), with_env()
    ),
    GangCase("unknown", Status.SKIP, {"tray1": replace(tray(), mounts=HUNG)}, with_env()),
    GangCase("a container", Status.SKIP, mounted(HARDENED), DOCKER),
)
def test_exec_dirs(case: GangCase) -> None:
    assert_gang(os_exec_dirs, case)


@table(
    Case("none", Status.PASS, replace(tray(), oom_kills=())),
    Case("one", Status.WARN, replace(tray(), oom_kills=("python3 (pid 812), 3.2 h ago",)), says=("python3 (pid 812)",)),
    Case("may not be read", Status.SKIP, replace(tray(), oom_kills=Unknown(Why.REFUSED, "dmesg: not permitted"))),
)
def test_oom_history(case: Case) -> None:
    assert_host(os_oom_history, case)


def libc(version: str | Unknown) -> dict[str, HostFacts]:
    return {"tray1": replace(tray(), glibc=version)}


ONE = alone(tray_needs())


@gang_table(
    GangCase("new", Status.PASS, libc("2.39"), ONE),
    GangCase("exactly", Status.PASS, libc("2.28"), ONE),
    GangCase("old", Status.FAIL, libc("2.17"), ONE, says=("glibc 2.17", "2.28")),
    GangCase("2.9 is older than 2.28", Status.FAIL, libc("2.9"), ONE),
    GangCase("another build", Status.FAIL, libc("2.28"), replace(ONE, build=Build(glibc="2.34")), says=("2.34",)),
    GangCase("musl", Status.FAIL, libc(Unknown(Why.UNREADABLE, "the C library is musl")), ONE, says=("musl",)),
    GangCase("unknown", Status.SKIP, libc(NO_TOOL), ONE),
    GangCase("a container", Status.SKIP, libc("2.17"), DOCKER),
)
def test_glibc(case: GangCase) -> None:
    assert_gang(os_glibc, case)


def logging(*arguments: str) -> Requirements:
    return replace(gang_needs(), container=Container("image", arguments=arguments))


@gang_table(
    GangCase("a file", Status.PASS),
    GangCase("docker as it comes", Status.WARN, needs=logging("--gpus", "all"), says=("max-size",)),
    GangCase("limited", Status.PASS, needs=logging("--log-opt", "max-size=100m")),
    GangCase("its own driver", Status.PASS, needs=logging("--log-driver=local")),
    GangCase("journald", Status.WARN, needs=logging("--log-driver", "journald"), says=("rate limit",)),
    GangCase("none", Status.WARN, needs=logging("--log-driver", "none")),
    GangCase("not told", Status.SKIP, needs=replace(gang_needs(), container=Container("image", arguments=None))),
)
def test_log_path(case: GangCase) -> None:
    assert_gang(os_log_path, case)


def busy(average: float, *processes: Busy) -> HostFacts:
    return replace(tray(), load=Load((average, average, average), processes))


AGENT = Busy(77, 5000.0, "agent")
RANK = Busy(78, 9900.0, "VLLM::Worker")
SERVING = RunningDeployment("x", "g", head=True, state="running", supervisor="systemd", pids=(78,))


@table(
    Case("idle", Status.PASS, busy(0.5)),
    Case("a quarter of 144", Status.PASS, busy(36.0)),
    Case("more", Status.WARN, busy(36.1, AGENT), says=("36.1 of 144", "agent 5000 %")),
    Case("ranks that are replaced do not count", Status.PASS, busy(120.0, RANK), replace(tray_needs(), own_pids=(78,))),
    Case(
        "others beside them do",
        Status.WARN,
        busy(120.0, RANK, AGENT),
        replace(tray_needs(), own_pids=(78,)),
        says=("50.0 of 144",),
    ),
    Case("ranks of another deployment are others", Status.WARN, replace(busy(120.0, RANK), deployments=(SERVING,))),
    Case("unknown", Status.SKIP, replace(tray(), load=HUNG)),
)
def test_contention(case: Case) -> None:
    assert_host(cpu_contention, case)
