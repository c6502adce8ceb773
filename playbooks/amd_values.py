"""Named values for AMD's repositories and packages: how they call a host's system, its GPUs and its driver. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from inventory.facts.base import Maybe, Unknown, Why, is_known

if TYPE_CHECKING:
    from playbooks.situation import Situation

# AMD, "Package manager installation": its driver has suites of Ubuntu alone, and says which a Debian takes.
SUITES = {
    "ubuntu-22.04": "jammy",
    "ubuntu-24.04": "noble",
    "ubuntu-26.04": "resolute",
    "debian-12": "jammy",
    "debian-13": "noble",
}

# Numbers of the PCI bus, by the PCI ID database: MI210, MI250, MI250X; MI300A, MI300X, MI308X, MI325X; MI350X, MI355X.
ARCHITECTURES = {
    **dict.fromkeys(("740f", "740c", "7408"), "gfx90a"),
    **dict.fromkeys(("74a0", "74a1", "74a2", "74a5"), "gfx942"),
    **dict.fromkeys(("75a0", "75a3"), "gfx950"),
}

MACHINES = frozenset({"x86_64", "aarch64"})


def suite(at: Situation) -> Maybe[str]:
    """The suite of AMD's driver for this system."""
    system = at.facts.system
    if not is_known(system):
        return system
    name = f"{system.id}-{system.version}"
    return SUITES.get(name) or Unknown(Why.EMPTY, f"AMD's driver has no packages for {name} that bringup knows of")


def architecture(at: Situation) -> Maybe[str]:
    """gfx942, as the names of ROCm's packages have it: what the driver says, else by the PCI bus."""
    gpus, on_bus = at.facts.gpus, at.facts.bus_gpus
    if is_known(gpus) and gpus.vendor == "amd" and gpus.devices:
        found = {one.compute_capability for one in gpus.devices}
    else:
        numbers = {one.device for one in on_bus if one.vendor == "amd"} if is_known(on_bus) else set()
        found = {ARCHITECTURES.get(number) for number in numbers}
    only = found.pop() if len(found) == 1 else None
    return only or Unknown(Why.EMPTY, "which architecture the GPUs of AMD have is not known")


def module(at: Situation) -> Maybe[str]:
    """7.1.3 of the setting driver=7.1.3.31500000: the rest is the release that it was packed for."""
    parts = at.settings.get("driver", "").split(".")
    return ".".join(parts[:3]) if len(parts) > 2 else Unknown(Why.NOT_ASKED, "the setting driver has no version")


def os_major(at: Situation) -> Maybe[str]:
    system = at.facts.system
    if not is_known(system):
        return system
    return system.version.partition(".")[0] or Unknown(Why.EMPTY, "os-release has no VERSION_ID")


def rpm_version(kernel: Maybe[str]) -> Maybe[str]:
    """5.14.0-570.el9 of 5.14.0-570.el9.x86_64, as packages have it. Kernels of another flavour have other packages."""
    if isinstance(kernel, Unknown):
        return kernel
    version, _, machine = kernel.rpartition(".")
    if machine not in MACHINES:
        return Unknown(Why.EMPTY, f"{kernel} is no kernel of the usual flavour")
    return version


AMD_VALUES: Mapping[str, Callable[[Situation], Maybe[str]]] = {
    "amd_suite": suite,
    "amd_gfx": architecture,
    "amd_module": module,
    "os_major": os_major,
}
