from __future__ import annotations

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.gpu.nvidia_driver import (
    parse_devices,
    parse_kernels,
    parse_linked,
    parse_lsmod,
    parse_module,
    parse_parameters,
    read_arguments,
    read_driver,
)
from inventory.facts.host import Driver, Library
from tests.answered import Said, answers

OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build  (dvs-builder@U22)
GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)
"""
LINKED = """\
libnvidia-ml.so.1 (libc6,x86-64) => /lib/libnvidia-ml.so.1 -> /usr/lib/libnvidia-ml.so.580.95.05
libcuda.so.1 (libc6,x86-64) => /usr/local/cuda/compat/libcuda.so.1 -> /usr/local/cuda-12.8/compat/libcuda.so.570.86.10
libcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1 -> /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05
libcuda.so.1 (libc6) => /lib/i386-linux-gnu/libcuda.so.1 -> /usr/lib/i386-linux-gnu/libcuda.so.580.95.05
"""
HOST: dict[str, Said] = {
    "nvidia.version": OPEN,
    "driver.parameters": 'EnableStreamMemOPs: 1\nRegistryDwords: "PeerMappingOverride=1;"\n',
    "driver.modules": "nvidia\nnvidia_peermem\nmlx5_core\n",
    "driver.peers": "nv_mem\n",
    "driver.libraries": LINKED,
    "driver.kernels": "kernel 6.8.0-9-generic\nkernel 6.8.0-70-generic\nkernel 0-rescue-ab\nhas 6.8.0-9-generic\n",
    "driver.nvlsm": (1, ""),
    "driver.command-line": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt\n",
}


def driver(items: dict[str, Said]) -> Driver:
    found = read_driver(answers(items))
    assert not isinstance(found, Unknown)
    return found


def test_all_of_it() -> None:
    found = driver(HOST)
    assert (found.module, found.open_module, found.library) == ("580.95.05", True, "580.95.05")
    assert [one.version for one in found.libcuda or ()] == ["570.86.10", "580.95.05"]
    assert dict(found.parameters)["EnableStreamMemOPs"] == "1"
    assert (found.loaded, found.memory_peers) == (("nvidia", "nvidia_peermem", "mlx5_core"), ("nv_mem",))
    assert (found.next_kernel, found.next_kernel_module, found.nvlsm) == ("6.8.0-70-generic", False, False)


def test_a_host_without_a_driver() -> None:
    none: dict[str, Said] = {
        "nvidia.version": (1, "cat: /proc/driver/nvidia/version: No such file or directory"),
        "driver.modules": "",
        "driver.peers": (2, "ls: cannot access '/sys/kernel/mm/memory_peers': No such file or directory"),
        "driver.libraries": (1, ""),
    }
    assert driver(none) == Driver(libcuda=(), loaded=())


def test_what_cannot_be_told_is_none() -> None:
    found = driver(
        {"driver.modules": (1, "/x/sys/module: No such file or directory"), "driver.libraries": (127, "ldconfig")}
    )
    assert (found.loaded, found.libcuda, found.nvlsm) == (None, None, None)
    hung = read_driver(answers({}, ends={"driver": 124}))
    assert isinstance(hung, Unknown)
    assert hung.why is Why.TIMED_OUT


def test_nvlsm_runs_though_another_process_ended_meanwhile() -> None:
    assert driver({**HOST, "driver.nvlsm": "/proc/812/comm\n"}).nvlsm is True
    assert driver({**HOST, "driver.nvlsm": (2, "")}).nvlsm is False


@pytest.mark.parametrize(
    ("said", "module", "is_open"),
    [
        (OPEN, "580.95.05", True),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  530.41.03  Thu Mar 16 19:48:20 UTC 2023", "530.41.03", False),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  460.56  Tue Feb 23 23:31:36 UTC 2021\n", "460.56", False),
        ("", None, None),
        ("NVRM version: nothing of the kind", None, None),
    ],
)
def test_modules(said: str, module: str | None, is_open: bool | None) -> None:  # noqa: FBT001
    assert parse_module(said) == (module, is_open)


def test_the_linker_of_an_image_tells_no_targets() -> None:
    said = (
        "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda/compat/libcuda.so.1\n"
        "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
    )
    assert parse_linked(said) == (
        Library("/usr/local/cuda/compat/libcuda.so.1", None),
        Library("/usr/lib/x86_64-linux-gnu/libcuda.so.1", None),
    )


def test_the_other_forms() -> None:
    assert parse_lsmod("Module  Size  Used by\nib_umad 40960 8\nmlx5_ib 1 0\nsnd 1 0\n") == ("ib_umad", "mlx5_ib")
    assert parse_parameters("GrdmaPciTopoCheckOverride: 0\n") == (("GrdmaPciTopoCheckOverride", "0"),)
    assert parse_devices("Character devices:\n234 nvidia-caps-imex-channels\n")
    assert not parse_devices("Character devices:\n234 nvidia-caps\n")
    assert parse_kernels("") == (None, None)
    assert parse_kernels("has 6.8.0\n") == (None, None)
    assert parse_kernels("kernel 5.14.0-570.el9\nkernel 5.14.0-70.el9\nhas 5.14.0-570.el9\n") == (
        "5.14.0-570.el9",
        True,
    )


def test_the_command_line() -> None:
    assert read_arguments(answers(HOST)) == "BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt"
    assert isinstance(read_arguments(answers({"driver.command-line": "\n"})), Unknown)
