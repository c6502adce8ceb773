from __future__ import annotations

import pytest

from inventory.facts.collect_env import parse_report

OLD = """PyTorch version: 2.5.1+cu124
CUDA used to build PyTorch: 12.4
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.5 LTS (x86_64)
CUDA runtime version: 12.4.131
GPU models and configuration:
GPU 0: NVIDIA H100 80GB HBM3
GPU 1: NVIDIA H100 80GB HBM3

Nvidia driver version: 550.127.05
HIP runtime version: N/A

CPU:
Architecture:            x86_64
On-line CPU(s) list:     0-3
Core(s) per socket:      2
Socket(s):               1
NUMA node0 CPU(s):       0-3

Versions of relevant libraries:
[pip3] torch==2.5.1
vLLM Version: 0.6.4
GPU Topology:
GPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\t0-3\t0\t\tN/A
GPU1\tNV18\t X \t0-3\t0\t\tN/A
"""
NEW = """==============================
       PyTorch Info
==============================
CUDA used to build PyTorch   : 12.6
GPU models and configuration : GPU 0: NVIDIA L40S
Nvidia driver version        : 570.86.15
==============================
          CPU Info
==============================
Architecture:        x86_64
On-line CPU(s) list: 0-16
==============================
Versions of relevant libraries
==============================
Architecture: not this one
"""
SGLANG = """Python: 3.12.3
CUDA available: True
GPU 0,1,3: NVIDIA A100-SXM4-80GB
GPU 2: NVIDIA A40
GPU 0,1,3 Compute Capability: 8.0
NVCC: Cuda compilation tools, release 12.1, V12.1.105
CUDA Driver Version: 525.85.12
NVIDIA Topology:
        GPU0    CPU Affinity    NUMA Affinity
GPU0     X      0-31    0

Hypervisor vendor: KVM
"""


def test_a_report_of_vllm() -> None:
    report = parse_report(OLD)
    assert report.models == ("NVIDIA H100 80GB HBM3",) * 2
    assert (report.gpu_count, report.driver, report.os) == (2, "550.127.05", "Ubuntu 22.04.5 LTS (x86_64)")
    assert (report.cuda_build, report.cuda_toolkit, report.rocm_build, report.hip) == ("12.4", "12.4.131", None, None)
    assert report.affinities[1].cpus == "0-3"
    assert report.cpu is not None
    assert (report.cpu.cores, report.cpu.online) == (2, "0-3")


def test_the_form_with_headings() -> None:
    report = parse_report(NEW)
    assert (report.models, report.driver, report.cuda_build) == (("NVIDIA L40S",), "570.86.15", "12.6")
    assert report.cpu is not None
    assert report.cpu.architecture == "x86_64"


def test_a_report_of_sglang() -> None:
    """What it calls the CUDA driver's version is the driver's."""
    report = parse_report(SGLANG)
    assert report.models == ("NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", "NVIDIA A40", "NVIDIA A100-SXM4-80GB")
    assert (report.driver, report.cuda_toolkit, report.hypervisor) == ("525.85.12", "12.1.105", "KVM")
    assert report.gpu_count == 1  # the topology shows the machine; torch may see more of another
    assert report.cpu is None


@pytest.mark.parametrize("suffix", [" (gfx90a:sramecc+:xnack-)", "NoGCNArchNameOnOldPyTorch", ""])
def test_rocm_names_the_first_gpu_only(suffix: str) -> None:
    text = f"ROCM used to build PyTorch: 6.1\nGPU models and configuration: AMD Instinct MI250X/MI250{suffix}\n"
    report = parse_report(text)
    assert report.models == ("AMD Instinct MI250X/MI250",)
    assert report.gpu_count is None
    nodes = (
        "GPU[0]\t\t: (Topology) Numa Node: 0\n"
        "GPU[0]\t\t: (Topology) Numa Affinity: -1\n"
        "GPU[1]\t\t: (Topology) Numa Node: 1\n"
    )
    assert parse_report(f"{text}GPU Topology:\n{nodes}").gpu_count == 2


def test_nothing() -> None:
    report = parse_report("")
    assert (report.models, report.gpu_count, report.cpu, report.driver) == ((), None, None, None)
