"""A case on disk, and what becomes of it: facts of its hosts and the requirements of its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from inventory.errors import HostUnreachable
from inventory.facts.base import NOT_ASKED
from inventory.facts.host import Gpu, Gpus, HostFacts
from inventory.yamlfile import parse, read_plain
from playbooks.requirements import Requirements
from tests.cases import files as host_files
from tests.cases.keys import canonical as canonical_keys
from tests.cases.names import canonical
from tests.cases.plan import addresses, requirements, unknown_keys
from tests.cases.readers import hosts

BY_HOST = ("iface", "start_offsets", "revision")
"""Keys of a plan whose value may be told host by host."""

NOT_OF_A_HOST = ("rendered",)  # folders that are the plan's


@dataclass(frozen=True, slots=True)
class Case:
    """`files` are the case's own, `hosts` those of each host by name; `<host>.log` counts as the host's `log`."""

    name: str
    files: Mapping[str, str]
    hosts: Mapping[str, Mapping[str, str]]
    expect: tuple[Mapping[str, Any], ...]
    unread: tuple[str, ...]
    folder: Path = Path()

    def needs(self, plan: str = "plan.yaml") -> Requirements:
        texts = {f"{host}/{name}": text for host, own in self.hosts.items() for name, text in own.items()}
        return requirements(self.plan(plan), {**texts, **self.files}, self.names(plan))

    def plan(self, name: str = "plan.yaml") -> Mapping[str, Any]:
        return _yaml(self.files.get(name, "{}"), name)

    def names(self, plan: str = "plan.yaml") -> tuple[str, ...]:
        """Every host that the case knows of, in its own order."""
        told = canonical_keys(self.plan(plan))
        rendered = [Path(name).stem for name in self.files if name.startswith("rendered/")]
        listed = [one["name"] for one in told.get("hosts", ())]
        found = dict.fromkeys((*listed, *_keys(told.get("commands")), *rendered, *self.hosts))
        by_host = [name for key in BY_HOST for name in _keys(told.get(key))]
        if isinstance(env := told.get("env"), dict):
            by_host += [name for name, own in env.items() if isinstance(own, dict)]
        return tuple(found) or tuple(dict.fromkeys(by_host)) or self._of_tables() or ("",)

    def _of_tables(self) -> tuple[str, ...]:
        """Hosts that only a table of all hosts names."""
        rows = (line.split() for line in self.files.get("offsets.tsv", "").splitlines())
        timed = [row[0] for row in rows if len(row) > 1 and _is_number(row[1])]
        return tuple(timed or addresses(self.files))

    def facts(self, plan: str = "plan.yaml") -> dict[str, HostFacts]:
        """What each host says; everything that no file tells is unknown."""
        told = canonical_keys(self.plan(plan))
        planned = {one["name"]: one for one in told.get("hosts", ())}
        return {
            name: host_files.facts(
                stated(name, planned.get(name, {})), self.own(name), self.files, planned.get(name, {}), told
            )
            for name in self.names(plan)
        }

    def own(self, host: str) -> Mapping[str, str]:
        """The files of one host; where no file is any host's, those of the case are everybody's."""
        return self.hosts.get(host, {}) if any(set(own) - {"log"} for own in self.hosts.values()) else self.files

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
    }  # newlines of every kind are read as one
    hosts: dict[str, dict[str, str]] = {}
    own: dict[str, str] = {}
    for name, text in texts.items():
        host, slash, rest = name.partition("/")
        if slash and host not in NOT_OF_A_HOST:
            add(hosts.setdefault(host, {}), canonical(rest), text)
        elif name.endswith(".log"):
            hosts.setdefault(name.removesuffix(".log"), {})["log"] = text
        else:
            add(own, name if slash or fnmatch(name, "plan*.yaml") else canonical(name), text)
    unread = [name for name in texts if not host_files.is_read(canonical(name.rpartition("/")[2]))]
    plans = [name for name in own if fnmatch(name, "plan*.yaml")]
    unread += [f"the key {key} of {name}" for name in plans for key in unknown_keys(_yaml(own[name], name))]
    return Case(folder.name, own, hosts, tuple(told["expect"]), tuple(unread), folder)


def add(texts: dict[str, str], name: str, text: str) -> None:
    """Two files that ask one question are read one after the other."""
    texts[name] = f"{texts[name].rstrip()}\n{text}" if texts.get(name) else text


def _keys(told: object) -> tuple[str, ...]:
    return tuple(map(str, told)) if isinstance(told, dict) else ()


def _is_number(text: str) -> bool:
    return text.lstrip("+-").replace(".", "", 1).isdigit()


def _plain(path: Path) -> Mapping[str, Any]:
    data = read_plain(path)
    assert isinstance(data, dict), path
    return data


def _yaml(text: str, name: str) -> Mapping[str, Any]:
    data = parse(text.encode(), name).data
    return data if isinstance(data, dict) else {}
