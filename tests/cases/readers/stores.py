"""Network, storage and runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inventory.facts.base import Unknown, is_known
from inventory.facts.caches import parse_found
from inventory.facts.containers import parse_images
from inventory.facts.disks import parse_mount_table
from inventory.facts.host import (
    Caches,
    Container,
    Docker,
    Environment,
    FileSystem,
    HostFacts,
    Names,
    Network,
    Software,
    System,
    WeightFolder,
)
from inventory.facts.names import parse_ahosts
from inventory.facts.network import interfaces, listener
from inventory.facts.software import parse_packages
from inventory.facts.weights import is_content, parse_listing
from tests.cases.reader import Files, Reader

NO_SOFTWARE = Software(None, None, None, None, None, None, (), ())


def _names(files: Files, _: HostFacts) -> Mapping[str, Any]:
    own = parse_ahosts(files.own.get("getent_ahosts_hostname.txt", ""))
    lines = [line for line in files.own.get("etc_hosts.txt", "").splitlines() if files.host in line.split()]
    return {"names": Names(own, hosts_lines=tuple(lines))}


def _links(files: Files, _: HostFacts) -> Mapping[str, Any]:
    found = interfaces(files.own.get("ip_link.txt", ""), files.own.get("ip_addr.txt", ""), "")
    return {"network": Network(found, (), (32768, 60999))}


def _listeners(files: Files, _: HostFacts) -> Mapping[str, Any]:
    return {"listeners": tuple(one for line in files.own["ss_-ltnp.txt"].splitlines() if (one := listener(line)))}


def _weights(files: Files, _: HostFacts) -> Mapping[str, Any]:
    listed = parse_listing(files.own["ls_-l.txt"])
    partial = tuple(one.path for one in listed if not is_content(one.path))
    return {"weight_folders": (WeightFolder("", tuple(one for one in listed if is_content(one.path)), partial),)}


def _mounts(files: Files, _: HostFacts) -> Mapping[str, Any]:
    return {"mounts": parse_mount_table("\n".join(files.texts("findmnt*", "proc_mounts*", "mount.txt")))}


def _found(files: Files, _: HostFacts) -> Mapping[str, Any]:
    artefacts = parse_found(files.own["find_cache.txt"])
    return {"caches": Caches(empty=not artefacts, artefacts=artefacts, stamp=None)}


def _disks(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """The case has its own form of `df`: a mount and its free bytes."""
    rows = (line.split() for line in files.own["df.txt"].splitlines() if line.strip())
    systems = (FileSystem(row[0], row[0], "", int(row[1]), int(row[1]), None, writable=True) for row in rows)
    return {"file_systems": tuple(systems)}


def _docker(files: Files, told: HostFacts) -> Mapping[str, Any]:
    found = told.docker if is_known(told.docker) else Docker(None)
    root = files.own.get("docker_info_root.txt", "").strip() or found.root
    timeout = files.own.get("docker_inspect_StopTimeout.txt")
    running = found.containers
    if timeout is not None:
        running = (Container("", "", int(timeout) if timeout.strip().isdigit() else None, ()),)
    images = parse_images(files.own["inspect.json"]) if "inspect.json" in files.own else found.images
    return {"docker": Docker(root, images=images, containers=running)}


def _packages(files: Files, told: HostFacts) -> Mapping[str, Any]:
    packages = parse_packages(files.own["pip_freeze.txt"])
    version = dict(packages).get("vllm", "")
    software = NO_SOFTWARE if isinstance(told.software, Unknown) else told.software
    environment = Environment("", version, complete=True, simulated=False, packages=packages)
    return {"software": replace(software, environments=(environment,))}


def _machine(files: Files, told: HostFacts) -> Mapping[str, Any]:
    machine = files.own["uname_-m.txt"].strip()
    if is_known(told.system):
        return {"system": replace(told.system, architecture=machine)}
    return {"system": System("", "", "other", "", machine, "", files.host, "", 0, can_sudo=False, clock_offset_s=0.0)}


READERS: tuple[Reader, ...] = (
    Reader(("getent_ahosts_hostname.txt", "etc_hosts.txt"), _names),
    Reader(("ip_link.txt", "ip_addr.txt"), _links),
    Reader(("ss_-ltnp.txt",), _listeners),
    Reader(("ls_-l.txt",), _weights),
    Reader(("findmnt*", "proc_mounts*", "mount.txt"), _mounts),
    Reader(("find_cache.txt",), _found),
    Reader(("df.txt",), _disks),
    Reader(("docker_info_root.txt", "docker_inspect_StopTimeout.txt", "inspect.json"), _docker),
    Reader(("pip_freeze.txt",), _packages),
    Reader(("uname_-m.txt",), _machine),
)
