"""The programs run for real against a simulated libcuda.so.1 that is built here; no GPU is used."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from playbooks.checks.active import fabric_p2p_data, gpu_cuda_init
from playbooks.checks.active.base import HostTrial, Said
from playbooks.finding import Finding, Status
from playbooks.requirements import Container, HostRequirements
from tests.unit.playbooks.checks.gang import cpu_needs, gang_needs, tray_needs

SOURCE = Path(__file__).with_name("simulated_cuda.c")
NEEDS = gang_needs()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("cuda")
    command = [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", str(folder / "libcuda.so.1"), str(SOURCE)]
    subprocess.run(command, check=True)
    return folder


def host(folder: Path, *gpus: int, **env: str) -> HostRequirements:
    """An environment whose python is this one."""
    programs = folder / "env/bin"
    programs.mkdir(parents=True, exist_ok=True)
    if not (programs / "python").exists():
        (programs / "python").symlink_to(sys.executable)
    variables = tuple(({"LD_LIBRARY_PATH": str(folder)} | env).items())
    return replace(tray_needs(), gpus=gpus or (0, 1), argv=(str(programs / "vllm"), "serve"), env=variables)


def tried(trial: HostTrial, one: HostRequirements) -> Finding:
    script = trial.script(one, NEEDS)
    assert isinstance(script, str)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=90)
    assert done.stderr == ""
    return trial.judge(Said(done.returncode, done.stdout, done.stderr), one, NEEDS)


def test_cuda_that_works(library: Path) -> None:
    finding = tried(gpu_cuda_init, host(library))
    assert (finding.status, finding.observed) == (Status.PASS, "CUDA 13000 started on 2 of 2 visible GPUs")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (802, "fabric.state"),
        (803, "gpu.compat_shadow"),
        (804, "gpu.driver_min"),
        (999, "nvidia-uvm"),
        (100, "no device is visible"),
        (700, "dmesg"),
    ],
)
def test_codes_of_the_start(library: Path, code: int, says: str) -> None:
    finding = tried(gpu_cuda_init, host(library, FAKE_FAIL=f"cuInit:{code}"))
    assert finding.status is Status.FAIL
    assert f"cuInit: error {code} CUDA_ERROR_SIMULATED" in finding.observed
    assert says in f"{finding.observed} {finding.remedy}"


def test_a_planned_gpu_that_is_not_there(library: Path) -> None:
    finding = tried(gpu_cuda_init, host(library, 0, 3))
    assert finding.status is Status.FAIL
    assert "error 101" in finding.observed


def test_visible_devices_renumber(library: Path) -> None:
    assert tried(gpu_cuda_init, host(library, 6, 7, CUDA_VISIBLE_DEVICES="6,7")).status is Status.PASS


def test_a_gpu_that_is_full_says_nothing_against_cuda(library: Path) -> None:
    for trial in (gpu_cuda_init, fabric_p2p_data):
        finding = tried(trial, host(library, FAKE_FAIL="cuMemAlloc_v2:2"))
        assert (finding.status, "gpu.free_mem" in finding.observed) == (Status.SKIP, True)


def test_no_library(tmp_path: Path) -> None:
    finding = tried(gpu_cuda_init, host(tmp_path))
    assert finding.status is Status.FAIL
    assert "libcuda.so.1" in finding.observed


def test_a_simulated_environment_is_skipped(library: Path, tmp_path: Path) -> None:
    shutil.copy(library / "libcuda.so.1", tmp_path)
    one = host(tmp_path)
    (tmp_path / "env/bringup-env.json").write_text('{"simulated": true}')
    for trial in (gpu_cuda_init, fabric_p2p_data):
        assert tried(trial, one).status is Status.SKIP


def test_copies_that_are_right(library: Path) -> None:
    finding = tried(fabric_p2p_data, host(library))
    assert finding.status in {Status.PASS, Status.WARN}
    assert "GB/s" in finding.observed


def test_copies_that_are_wrong(library: Path) -> None:
    finding = tried(fabric_p2p_data, host(library, FAKE_WRONG="1"))
    assert (finding.status, finding.observed) == (Status.FAIL, "wrong data: GPU 0 to 1, GPU 1 to 0")


def test_a_copy_that_fails(library: Path) -> None:
    finding = tried(fabric_p2p_data, host(library, FAKE_FAIL="cuMemcpyPeer:700"))
    assert (finding.status, "cuMemcpyPeer 700" in finding.observed) == (Status.FAIL, True)


def test_a_copy_that_hangs_is_ended_and_named(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fabric_p2p_data.PROGRAM.replace(f"PAIR_S = {fabric_p2p_data.PAIR_S}", "PAIR_S = 1")
    monkeypatch.setattr(fabric_p2p_data, "PROGRAM", program)
    script = fabric_p2p_data.script(host(library, FAKE_HANG="1"), NEEDS)
    assert isinstance(script, str)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=30)
    finding = fabric_p2p_data.judge(Said(done.returncode, done.stdout, done.stderr), host(library), NEEDS)
    assert finding.status is Status.FAIL
    assert "GPU 0 to 1 did not end within" in finding.observed


def test_one_slow_pair_is_named() -> None:
    lines = [f"pair {one} {other} right 400.0 peer" for one in range(3) for other in range(3) if one != other]
    said = Said(0, "\n".join([*lines[:-1], "pair 2 1 right 20.0 host", "done "]))
    finding = fabric_p2p_data.judge(said, tray_needs(), NEEDS)
    assert finding.status is Status.WARN
    assert "GPU 2 to 1: 20 GB/s; most reach 400 GB/s" in finding.observed


def test_a_deadline_that_passed() -> None:
    assert gpu_cuda_init.judge(Said(124, ""), tray_needs(), NEEDS).status is Status.FAIL
    assert gpu_cuda_init.judge(Said(0, "no-tool python3\n"), tray_needs(), NEEDS).status is Status.UNKNOWN
    assert gpu_cuda_init.judge(Said(0, "driver 13000\ncount 2\nwell 0\n"), tray_needs(), NEEDS).status is Status.FAIL


@pytest.mark.parametrize("trial", [gpu_cuda_init, fabric_p2p_data], ids=lambda one: one.ID)
def test_where_there_is_nothing_to_run(trial: HostTrial) -> None:
    for one in (cpu_needs(), replace(tray_needs(), gpu_profile="mi355x"), replace(tray_needs(), argv=())):
        finding = trial.script(one, NEEDS)
        assert isinstance(finding, Finding)
        assert finding.status is Status.SKIP


def test_in_a_container() -> None:
    image = Container(image="reg/vllm", digest="sha256:ab", arguments=("--gpus", "all", "--name", "x"))
    script = gpu_cuda_init.script(tray_needs(), replace(NEEDS, container=image))
    assert isinstance(script, str)
    assert "docker run --rm --pull never --gpus all -e CUDA_DEVICE_ORDER=PCI_BUS_ID --entrypoint python3" in script
    assert "reg/vllm@sha256:ab -B -c" in script
    assert "--name" not in script
