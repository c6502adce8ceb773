"""A case on disk, and what becomes of it: facts of its hosts and the requirements of its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from inventory.errors import HostUnreachable
from inventory.facts.base import NOT_ASKED
from inventory.facts.host import Gpu, Gpus, HostFacts
from inventory.yamlfile import parse, read_plain
from playbooks.requirements import Requirements
from tests.cases import files as host_files
from tests.cases.plan import requirements
from tests.cases.readers import hosts

NOT_OF_A_HOST = ("rendered",)  # folders that are the plan's


@dataclass(frozen=True, slots=True)
class Case:
    """`files` are the case's own, `hosts` those of each host by name; `<host>.log` counts as the host's `log`."""

    name: str
    files: Mapping[str, str]
    hosts: Mapping[str, Mapping[str, str]]
    expect: tuple[Mapping[str, Any], ...]
    unread: tuple[str, ...]

    def needs(self, plan: str = "plan.yaml") -> Requirements:
        return requirements(self.plan(plan), self.files, self.names(plan))

    def plan(self, name: str = "plan.yaml") -> Mapping[str, Any]:
        return _yaml(self.files.get(name, "{}"), name)

    def names(self, plan: str = "plan.yaml") -> tuple[str, ...]:
        """Every host that the case knows of, in its own order."""
        told = self.plan(plan)
        rendered = [Path(name).stem for name in self.files if name.startswith("rendered/")]
        listed = [one["name"] for one in told.get("hosts", ())]
        found = dict.fromkeys((*listed, *told.get("commands", {}), *rendered, *self.hosts))
        return tuple(found) or ("",)

    def facts(self, plan: str = "plan.yaml") -> dict[str, HostFacts]:
        """What each host says; everything that no file tells is unknown."""
        told = self.plan(plan)
        planned = {one["name"]: one for one in told.get("hosts", ())}
        return {
            name: host_files.facts(
                stated(name, planned.get(name, {})), self.hosts.get(name, {}), self.files, planned.get(name, {}), told
            )
            for name in self.names(plan)
        }

    def errors(self) -> dict[str, HostUnreachable]:
        """Hosts of which ssh's own words are all that there is."""
        found = {host: hosts.error(host, own) for host, own in self.hosts.items()}
        return {host: error for host, error in found.items() if error}


def empty(host: str) -> HostFacts:
    """A host of which nothing was asked."""
    unknown = {field.name: NOT_ASKED for field in fields(HostFacts) if "Maybe" in str(field.type)}
    return HostFacts(host=host, noise="", seconds=0.0, **unknown)  # type: ignore[arg-type]


def stated(host: str, planned: Mapping[str, Any]) -> HostFacts:
    """A host of which only the plan tells: its GPUs, where it says how large they are."""
    if "gpu_mem_mib" not in planned:
        return empty(host)
    size = planned["gpu_mem_mib"] * 2**20
    devices = tuple(
        Gpu(at, "", "", size, "", None, None, mig_enabled=None, processes=()) for at in range(planned["gpus"])
    )
    return replace(empty(host), gpus=Gpus("nvidia", None, None, devices, simulated=False))


def read(folder: Path) -> Case:
    told = _plain(folder / "case.yaml")
    texts = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "case.yaml"
    }
    hosts: dict[str, dict[str, str]] = {}
    own: dict[str, str] = {}
    for name, text in texts.items():
        host, slash, rest = name.partition("/")
        if slash and host not in NOT_OF_A_HOST:
            hosts.setdefault(host, {})[rest] = text
        elif name.endswith(".log"):
            hosts.setdefault(name.removesuffix(".log"), {})["log"] = text
        else:
            own[name] = text
    unread = tuple(name for name in texts if not host_files.is_read(name.rpartition("/")[2]))
    return Case(folder.name, own, hosts, tuple(told["expect"]), unread)


def _plain(path: Path) -> Mapping[str, Any]:
    data = read_plain(path)
    assert isinstance(data, dict), path
    return data


def _yaml(text: str, name: str) -> Mapping[str, Any]:
    data = parse(text.encode(), name).data
    assert isinstance(data, dict), name
    return data
