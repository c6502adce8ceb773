"""What is known of a host when its part of a playbook is planned: facts, the plan of a launch, given settings. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.facts.base import Maybe, Unknown, Why, is_known

if TYPE_CHECKING:  # hosts should not wait for their import
    from inventory.facts.host import HostFacts
    from playbooks.repositories.source import Source
    from playbooks.requirements import Requirements

NOT_PLANNED = Unknown(Why.NOT_ASKED, "only the plan of a model tells: give --model")
DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}


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
        return self.facts.gpus.vendor if is_known(self.facts.gpus) else self.facts.gpus

    @property
    def supervisor(self) -> Maybe[str]:
        software = self.facts.software
        if isinstance(software, Unknown):
            return software
        return "systemd" if software.systemd is not None else "process-group"

    def has(self, what: str) -> Maybe[bool]:
        """What is on the machine."""
        facts = self.facts
        if what == "rdma":
            return bool(facts.rdma) if is_known(facts.rdma) else facts.rdma
        if what == "nvswitch":
            return _counted(facts.fabric.switches) if is_known(facts.fabric) else facts.fabric
        if what == "several-gpus":
            if not is_known(facts.gpus):
                return facts.gpus
            return len(facts.gpus.devices) + len(facts.gpus.hidden) > 1
        if what == "docker":
            return facts.software.docker is not None if is_known(facts.software) else facts.software
        return Unknown(Why.NOT_ASKED, f"no fact tells {what}")

    def planned(self, what: str) -> Maybe[bool]:
        """What the launch is."""
        if self.needs is None:
            return NOT_PLANNED
        if what == "container":
            return self.needs.container is not None
        if what == "several-hosts":
            return len(self.needs.hosts) > 1
        told = {"rdma": self.needs.rdma, "mnnvl": self.needs.mnnvl}[what]
        return Unknown(Why.EMPTY, f"the plan does not tell {what}") if told is None else told


def _counted(number: int | None) -> Maybe[bool]:
    return Unknown(Why.EMPTY, "the PCI bus was not read") if number is None else number > 0
