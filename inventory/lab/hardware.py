"""Puts a profile's hardware into the files of hosts: the sysroot, the tools, and what /etc/bringup-lab says."""

from __future__ import annotations

from pathlib import Path

from inventory.lab import sysroot
from inventory.lab.image import PROGRAMS, write
from inventory.lab.nvidia.described import described
from inventory.lab.profile import Profile
from inventory.quoting import quote

SYSROOT = "/opt/bringup-lab/sysroot"
TOOL_FILES = ("__init__.py", "log.fields", "log.py", "machine.py", "query-gpu.fields", "query.py", "smi.py", "table.py")
PACKAGE = "inventory/lab/nvidia"
PYTHON_PATH = "opt/bringup-lab/python"


def settings(profile: Profile) -> dict[str, str]:
    """What /etc/bringup-lab says, for whoever gathers facts: where to read, and that it is not real."""
    hardware = profile.hardware
    if hardware is None:
        return {"simulated": "false"}
    return {
        "simulated": "true",
        "sysroot": SYSROOT,
        "allowed": profile.allowed or sysroot.all_cpus(hardware),
        "arch": hardware.architecture,
    }


def write_shared(profile: Profile, layer: Path, interpreter: Path) -> None:
    """Write what all hosts of a lab have: the kernel's files, and the tools that ask the hardware."""
    if profile.hardware is None:
        return
    for name, text in sysroot.files(profile.hardware):
        write(layer, f"{SYSROOT[1:]}/{name}", text)
    if profile.hardware.gpus is not None:
        write_tool(layer, interpreter)


def write_tool(layer: Path, interpreter: Path) -> None:
    """Write the program that answers for the GPUs, which `write_own` describes."""
    for package in ("inventory", "inventory/lab"):
        write(layer, f"{PYTHON_PATH}/{package}/__init__.py", "")
    for name in TOOL_FILES:
        write(layer, f"{PYTHON_PATH}/{PACKAGE}/{name}", (PROGRAMS / "nvidia" / name).read_text())
    write(layer, "usr/bin/nvidia-smi", _starter(interpreter), 0o755)


def write_own(profile: Profile, layer: Path, lab: str, host: str) -> None:
    """Write what only one host has: its GPUs' numbers."""
    if profile.hardware is not None and profile.hardware.gpus is not None:
        write(layer, f"{PYTHON_PATH}/{PACKAGE}/gpus.json", described(profile, lab, host))


def _starter(interpreter: Path) -> str:
    return (
        "#!/bin/sh\n# Simulated by the lab of bringup: there is no GPU.\n"
        f"PYTHONPATH=/{PYTHON_PATH} exec {quote(interpreter)} -s -S -B -m inventory.lab.nvidia.smi "
        '"$@"\n'
    )
