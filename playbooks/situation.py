"""What is known of a host when its part of a playbook is planned: facts, the plan of a launch, given settings. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.facts.base import Maybe, Unknown, Why, is_known

if TYPE_CHECKING:  # hosts should not wait for their import
    from inventory.facts.host import HostFacts
    from playbooks.repositories.source import Source
    from playbooks.requirements import Requirements

NOT_PLANNED = Unknown(Why.NOT_ASKED, "only the plan of a model tells: give --model")
DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
TURING = 0x1E00
"""NVIDIA numbers its GPUs on the bus in the order of their architectures: from here on they take the open modules."""
SWITCHED_BOARDS = frozenset({"b200", "b300"})
"""HGX boards whose NVSwitches are reached over InfiniBand: they are no devices of NVIDIA on the bus."""
TRAYS = frozenset({"gb200", "gb300"})
"""Of racks whose NVSwitches are in trays of their own."""
COMPILED = frozenset({"nvidia-cuda-nvcc", "flashinfer-cubin", "flashinfer-jit-cache"})
"""Wheels that compile kernels themselves, or have them compiled."""


@dataclass(frozen=True, slots=True)
class Situation:
    """`hardware`: profile of the recipes' taxonomy. `needs`: of the launch, None: no model was given."""

    facts: HostFacts
    hardware: Maybe[str]
    needs: Requirements | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    state_dir: str = "/var/lib/bringup"
    sources: Mapping[str, Source] = field(default_factory=dict)

    @property
    def family(self) -> Maybe[str]:
        return self.facts.system.family if is_known(self.facts.system) else self.facts.system

    @property
    def architecture(self) -> Maybe[str]:
        return self.facts.system.architecture if is_known(self.facts.system) else self.facts.system

    @property
    def gpu(self) -> Maybe[str]:
        """By the driver, else by the PCI bus: without a driver nothing else tells."""
        if is_known(self.facts.gpus):
            return self.facts.gpus.vendor
        on_bus = {one.vendor for one in self.facts.bus_gpus} if is_known(self.facts.bus_gpus) else set()
        return on_bus.pop() if len(on_bus) == 1 else self.facts.gpus

    @property
    def supervisor(self) -> Maybe[str]:
        software = self.facts.software
        if isinstance(software, Unknown):
            return software
        return "systemd" if software.systemd is not None else "process-group"

    def has(self, what: str) -> Maybe[bool]:
        """What is on the machine, and what the machine is."""
        facts = self.facts
        ask: dict[str, Callable[[], Maybe[bool]]] = {
            "rdma": lambda: bool(facts.rdma) if is_known(facts.rdma) else facts.rdma,
            "nvswitch": self._has_switches,
            "several-gpus": self._has_several_gpus,
            "docker": lambda: facts.software.docker is not None if is_known(facts.software) else facts.software,
            "open-modules": lambda: _same(self._takes_open_modules(), wanted=True),
            "closed-modules": lambda: _same(self._takes_open_modules(), wanted=False),
            "hypervisor": lambda: _same(self._is_virtual(), wanted=True),
            "bare-metal": lambda: _same(self._is_virtual(), wanted=False),
        }
        return ask[what]() if what in ask else Unknown(Why.NOT_ASKED, f"no fact tells {what}")

    def _is_virtual(self) -> Maybe[bool]:
        system = self.facts.system
        return system.hypervisor is not None if is_known(system) else system

    def _has_several_gpus(self) -> Maybe[bool]:
        count = self._gpu_count()
        return count > 1 if is_known(count) else count

    def _gpu_count(self) -> Maybe[int]:
        gpus, on_bus = self.facts.gpus, self.facts.bus_gpus
        if is_known(gpus):
            return len(gpus.devices) + len(gpus.hidden)
        return len(on_bus) if is_known(on_bus) and on_bus else gpus

    def _has_switches(self) -> Maybe[bool]:
        """In the host itself."""
        if self.hardware in TRAYS:
            return False
        if self.hardware in SWITCHED_BOARDS:
            return self.has("several-gpus")
        fabric = self.facts.fabric
        return _counted(fabric.switches) if is_known(fabric) else fabric

    def _takes_open_modules(self) -> Maybe[bool]:
        """Whether all GPUs of NVIDIA take the open kernel modules: Turing and later do, Blackwell takes no others."""
        if isinstance(self.facts.bus_gpus, Unknown):
            return self.facts.bus_gpus
        numbers = [int(one.device, 16) for one in self.facts.bus_gpus if one.vendor == "nvidia"]
        return min(numbers) >= TURING if numbers else Unknown(Why.EMPTY, "no GPU of NVIDIA is on the PCI bus")

    def planned(self, what: str) -> Maybe[bool]:
        """What the launch is."""
        if what == "imex" and self.settings.get("imex_nodes"):
            return True
        if self.needs is None:
            return NOT_PLANNED
        if what == "compiles":
            return self._compiles(self.needs)
        if what == "container":
            return self.needs.container is not None
        if what == "several-hosts":
            return len(self.needs.hosts) > 1
        told = {"rdma": self.needs.rdma, "mnnvl": self.needs.mnnvl, "imex": self.needs.mnnvl}[what]
        return Unknown(Why.EMPTY, f"the plan does not tell {what}") if told is None else told

    @staticmethod
    def _compiles(needs: Requirements) -> Maybe[bool]:
        """Whether ranks compile kernels on the host: not in an image, nor with wheels that have them compiled."""
        if needs.container is not None:
            return False
        if not needs.build.packages:
            return Unknown(Why.EMPTY, "the packages of the build are not known")
        return not COMPILED & {name for name, _ in needs.build.packages}


def _same(fact: Maybe[bool], *, wanted: bool) -> Maybe[bool]:
    return fact if isinstance(fact, Unknown) else fact is wanted


def _counted(number: int | None) -> Maybe[bool]:
    return Unknown(Why.EMPTY, "the PCI bus was not read") if number is None else number > 0
