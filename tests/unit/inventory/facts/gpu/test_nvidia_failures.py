from __future__ import annotations

import pytest

from inventory.facts.gpu.nvidia_failures import find_failure


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124",
            "driver_library_mismatch",
        ),
        ("NVRM: API mismatch: the client has the version 570.172.08", "driver_library_mismatch"),
        (
            (
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure the latest"
                " NVIDIA driver is installed and running."
            ),
            "driver_not_loaded",
        ),
        ("Failed to initialize NVML: Driver Not Loaded", "driver_not_loaded"),
        ("No devices were found", "no_devices"),
        ("Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error", "one_gpu_lost"),
        ("Unable to determine the device handle for GPU0: 0000:1B:00.0: GPU is lost.  Reboot the system", "gpu_lost"),
        (
            (
                "NVRM: The NVIDIA GPU 0000:b3:00.0\n NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
                " NVRM: fallen off the bus and is not responding to commands."
            ),
            "fallen_off_bus",
        ),
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has", "fallen_off_bus"),
        ("Failed to initialize NVML: Unknown Error", "nvml_unknown_error"),
        ("Failed to initialize NVML: Insufficient Permissions", "no_permission"),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", "library_missing"),
        ('Field "compute_cap" is not a valid field to query.', "old_driver"),
        ("Failed to initialize NVML: GPU access blocked by the operating system", "nvml_failed"),
    ],
)
def test_each_failure_has_its_name(text: str, name: str) -> None:
    failure = find_failure(text)
    assert failure is not None
    assert failure.name == name


@pytest.mark.parametrize("text", ["", "GPU 0: NVIDIA H200 (UUID: GPU-1)", "NVRM: Xid (PCI:0000:3b:00): 31, pid=1"])
def test_what_is_none(text: str) -> None:
    assert find_failure(text) is None
