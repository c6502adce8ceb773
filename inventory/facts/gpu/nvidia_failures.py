"""How nvidia-smi says that it cannot: each has its own cause, and none of them means "no GPUs"."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """`name` is stable; `cause` is for the operator. `usable`: 0 if no GPU can be used, None if some may be."""

    name: str
    cause: str
    usable: int | None = None


NONE_USABLE = frozenset(
    {"driver_library_mismatch", "driver_not_loaded", "no_devices", "library_missing", "no_permission"}
)
# The first that is found counts: the more telling ones stand first.
FAILURES: tuple[tuple[re.Pattern[str], Failure], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), Failure(name, cause, 0 if name in NONE_USABLE else None))
    for pattern, name, cause in (
        (
            r"driver/library version mismatch|api mismatch",
            "driver_library_mismatch",
            "kernel module and user-space library are of different versions: reboot, or reload the module",
        ),
        (
            r"couldn'?t communicate with the nvidia driver|driver (?:is )?not loaded",
            "driver_not_loaded",
            "the kernel module is not loaded",
        ),
        (
            r"fallen off the bus|\bxid\b[^\n]{0,60}[:,] 79\b",
            "fallen_off_bus",
            "a GPU no longer answers on PCIe: reset or power cycle the host, then look at the slot",
        ),
        (
            r"gpu is lost|gpu at [0-9a-f:.]+ is lost|nvml_error_gpu_is_lost",
            "gpu_lost",
            "a GPU is lost: reboot the host to recover it",
        ),
        (
            r"unable to determine the device handle",
            "one_gpu_lost",
            "one lost GPU hides all others from nvidia-smi: find it in the kernel's log",
        ),
        (
            r"failed to initialize nvml: unknown error|nvml:? unknown error",
            "nvml_unknown_error",
            "the container lost its right to the devices (often after systemd reloaded its units): start it again",
        ),
        (
            r"failed to initialize nvml: insufficient permissions|no permission|insufficient permissions",
            "no_permission",
            "this user may not open the GPU devices",
        ),
        (
            r"failed to initialize nvml: not found|couldn'?t find libnvidia-ml|libnvidia-ml\S* .{0,40}no such file",
            "library_missing",
            "the driver's user-space library is missing or does not match the module",
        ),
        (
            r"no devices were found",
            "no_devices",
            "the driver is loaded but has initialised no GPU: see `RmInitAdapter` in the kernel's log",
        ),
        (
            r"failed to initialize nvml",
            "nvml_failed",
            "the management library did not start",
        ),
        (
            r"is not a valid field|invalid combination of input|unknown option|option .{0,30} not recognized",
            "old_driver",
            "this driver's nvidia-smi does not know the question",
        ),
    )
)


def find_failure(text: str) -> Failure | None:
    """The failure that nvidia-smi's output, its stderr or the kernel's log tells, if one does."""
    return next((failure for pattern, failure in FAILURES if pattern.search(text)), None)


@dataclass(frozen=True, slots=True)
class LostGpu:
    """A GPU that the kernel's log says is off the bus; `device` is `vendor:device`, empty parts were not told."""

    address: str
    device: str
    driver: str


LOST = re.compile(
    r"NVRM: (?:The NVIDIA GPU|GPU at PCI:) ?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?)"
    r"(?:\s+NVRM: \(PCI ID: ([0-9a-f]{4}:[0-9a-f]{4})\) installed in this system has)?[^\[]{0,80}?fallen off the bus",
    re.IGNORECASE,
)
MODULE = re.compile(r"NVRM: loading NVIDIA UNIX .*?Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)")


def find_lost_gpus(log: str) -> tuple[LostGpu, ...]:
    """GPUs off the bus. The message goes over three lines, of which only the first has a time stamp."""
    module = MODULE.search(log)
    return tuple(LostGpu(address, device or "", module[1] if module else "") for address, device in LOST.findall(log))
