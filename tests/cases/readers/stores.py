"""Network, storage and runtime."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inventory.facts.base import NOT_ASKED, Unknown, is_known
from inventory.facts.caches import parse_found, parse_stamp
from inventory.facts.containers import parse_images
from inventory.facts.context_parts import parse_environment
from inventory.facts.df_text import parse_df
from inventory.facts.disks import parse_mount_table
from inventory.facts.docker_text import parse_docker_info
from inventory.facts.host import (
    Caches,
    Container,
    Docker,
    Environment,
    FileLock,
    HostFacts,
    Interface,
    Mount,
    Names,
    Network,
    Software,
    StoredFile,
    WeightFolder,
)
from inventory.facts.names import parse_ahosts
from inventory.facts.network import listener, port_ranges
from inventory.facts.network_text import parse_ip, parse_port_range, parse_routes
from inventory.facts.software import parse_packages
from inventory.facts.weights import is_content, parse_listing
from tests.cases.reader import Files, Reader
from tests.cases.readers.hosts import blank_system

NO_SOFTWARE = Software(None, None, None, None, None, None, (), ())
ADDRESSES = ("ip_addr.txt", "ip_link.txt", "sys_class_net_*_mtu.txt", "ip_route_get.txt", "ip_local_*.txt")
LISTINGS = ("ls_-l.txt", "in_*_ls_-l.txt", "in_*_test_-*", "head_*", "manifest_sha256.txt")
DOCKER = ("docker_*.txt", "inspect.json")
COMPILERS = ("nvcc_--version.txt", "hipcc_--version.txt", "which_nvcc.txt", "which_hipcc.txt")
EPHEMERAL = (32768, 60999)


def _names(files: Files, _: HostFacts) -> Mapping[str, Any]:
    lines = [line for line in files.own.get("etc_hosts.txt", "").splitlines() if files.host in line.split()]
    said = files.own.get("getent_ahosts_hostname.txt", "\n".join(lines))
    return {"names": Names(parse_ahosts(said), hosts_lines=tuple(lines))}


def _links(files: Files, _: HostFacts) -> Mapping[str, Any]:
    found = {one.name: one for one in parse_ip(files.own.get("ip_link.txt", ""))}
    for one in parse_ip(files.own.get("ip_addr.txt", "")):
        known = found.get(one.name)
        found[one.name] = replace(known, addresses=one.addresses) if known else one
    for name, text in files.own.items():
        if name.startswith("sys_class_net_") and text.strip().isdigit():
            own = name.removeprefix("sys_class_net_").removesuffix("_mtu.txt")
            blank = found.get(own, Interface(own, "up", 0, (), None))
            found[own] = replace(blank, mtu=int(text))
    ports = parse_port_range(files.own.get("ip_local_port_range.txt", "")) or EPHEMERAL
    return {
        "network": Network(
            tuple(found.values()),
            parse_routes(files.own.get("ip_route_get.txt", "")),
            ports,
            port_ranges(files.own.get("ip_local_reserved_ports.txt", "").rpartition("=")[2]),
        )
    }


def _listeners(files: Files, _: HostFacts) -> Mapping[str, Any]:
    return {"listeners": tuple(one for line in files.own["ss_-ltnp.txt"].splitlines() if (one := listener(line)))}


def _weights(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """Of the host, or of where the ranks run; a path that is not there is an empty folder."""
    told = "\n".join(files.texts("in_*_ls_-l.txt") or files.texts("ls_-l.txt"))
    listed = parse_listing(told)
    tried = re.findall(r"test -\w (\S+).*?rc=(\d+)", "\n".join(files.texts("in_*_test_-*")))
    unreadable = tuple(path.rpartition("/")[2] for path, status in tried if status != "0")
    readable = tuple(StoredFile(path.rpartition("/")[2], 1) for path, status in tried if status == "0")
    sums = tuple(StoredFile("manifest", 1, text.split()[0]) for text in files.texts("manifest_sha256.txt"))
    heads = re.split(r"(?m)^==> (\S+) <==$", "\n".join(files.texts("head_*")))
    pairs = zip(heads[1::2], heads[2::2], strict=True)
    pointers = tuple(name for name, text in pairs if text.strip().startswith("version https://git-lfs"))
    return {
        "weight_folders": (
            WeightFolder(
                str(files.plan.get("weights_path") or ""),
                tuple(one for one in (*listed, *readable, *sums) if is_content(one.path))
                or tuple(StoredFile(name, 1) for name in unreadable),
                tuple(one.path for one in listed if not is_content(one.path)),
                unreadable=unreadable,
                pointers=pointers,
                manifest=sums or None,
            ),
        )
    }


def _mounts(files: Files, _: HostFacts) -> Mapping[str, Any]:
    return {"mounts": parse_mount_table("\n".join(files.texts("findmnt*", "proc_*mounts*", "mount.txt")))}


def _type(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """`stat -f -c %T` names the type alone: of the planned weights."""
    kind = files.texts("stat_-f*")[0].split()[-1:]
    path = str(files.plan.get("weights_path") or "/")
    return {"mounts": (Mount(path, kind[0], ""),) if kind else NOT_ASKED}


def _found(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """What is in the caches, the stamp beside them, and what they were made with."""
    artefacts = parse_found(files.own.get("find_cache.txt", ""))
    stamps = files.texts("*stamp*")
    made = "\n".join(files.texts("cache_env*", "cache_paths*"))
    words = dict(parse_environment(made.splitlines()))
    return {
        "caches": Caches(
            empty=not artefacts and not stamps and not made,
            artefacts=artefacts,
            stamp=parse_stamp(stamps[0]) if stamps else None,
            environment=tuple(sorted(words.items())) if words else None,
        )
    }


def _locks(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """`PATH age_s=N [holder=PID]`, or `INODE MODIFIED SIZE PATH` as the product asks."""
    text = files.own["find_locks.txt"]
    rows = re.findall(r"(?m)^(/\S+)(?:\s+age_s=(\d+))?(?:\s+(?:holder|pid)=(\d+))?", text)
    found = (FileLock(path, int(age or 0), 0, int(holder) if holder else None) for path, age, holder in rows)
    return {"locks": tuple(found)}


def _disks(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """Of `df`, or the case's own form of it: a mount and its free bytes."""
    return {"file_systems": parse_df(files.own.get("df.txt", ""), files.own.get("df_-i.txt", ""))}


def _docker(files: Files, told: HostFacts) -> Mapping[str, Any]:
    found = told.docker if is_known(told.docker) else Docker(None)
    if "docker_info.txt" in files.own:
        said = parse_docker_info(files.own["docker_info.txt"])
        if isinstance(said, Unknown):
            return {"docker": said}
        found = said
    root = files.own.get("docker_info_root.txt", "").strip() or found.root
    images = parse_images(files.own["inspect.json"]) if "inspect.json" in files.own else found.images
    return {"docker": replace(found, root=root, images=images, containers=_running(files) or found.containers)}


def _running(files: Files) -> tuple[Container, ...]:
    timeout, command = files.own.get("docker_inspect_StopTimeout.txt"), files.own.get("docker_inspect_Cmd.txt")
    if timeout is None and command is None:
        return ()
    seconds = re.search(r"\d+", timeout or "")
    words = tuple(re.findall(r"[^\s\[\]\",]+", command or ""))
    return (Container("", "", int(seconds[0]) if seconds else None, words),)


def _packages(files: Files, told: HostFacts) -> Mapping[str, Any]:
    packages = parse_packages(files.own["pip_freeze.txt"])
    version = dict(packages).get("vllm", "")
    software = NO_SOFTWARE if isinstance(told.software, Unknown) else told.software
    environment = Environment("", version, complete=True, simulated=False, packages=packages)
    return {"software": replace(software, environments=(environment,))}


def _python(files: Files, told: HostFacts) -> Mapping[str, Any]:
    version = re.search(r"Python (\d+\.\d+\S*)", files.texts("python_--version.txt")[0])
    software = NO_SOFTWARE if isinstance(told.software, Unknown) else told.software
    return {"software": replace(software, python=version[1] if version else None)}


def _compilers(files: Files, told: HostFacts) -> Mapping[str, Any]:
    """By the path that was found, or by the version that it printed."""
    software = NO_SOFTWARE if isinstance(told.software, Unknown) else told.software
    found = [path for text in files.texts("which_*") for path in text.split() if path.startswith("/")]
    for name in ("nvcc", "hipcc"):
        said = " ".join(files.texts(f"{name}_--version.txt"))
        found += [f"/{name}"] if said.strip() and "not found" not in said else []
    return {"software": replace(software, compilers=tuple(found))}


def _machine(files: Files, told: HostFacts) -> Mapping[str, Any]:
    text = files.own.get("uname_-m.txt") or files.own["uname_-a.txt"]
    machine = re.search(r"\b(x86_64|aarch64|arm64|ppc64le|riscv64)\b", text)
    return {"system": replace(blank_system(files, told), architecture=machine[1] if machine else text.strip())}


READERS: tuple[Reader, ...] = (
    Reader(("getent_ahosts_hostname.txt", "etc_hosts.txt"), _names),
    Reader(ADDRESSES, _links),
    Reader(("ss_-ltnp.txt",), _listeners),
    Reader(LISTINGS, _weights),
    Reader(("findmnt*", "proc_*mounts*", "mount.txt"), _mounts),
    Reader(("stat_-f*",), _type),
    Reader(("find_cache.txt", "*stamp*", "cache_env*", "cache_paths*"), _found),
    Reader(("find_locks.txt",), _locks),
    Reader(("df.txt", "df_-i.txt"), _disks),
    Reader(DOCKER, _docker),
    Reader(("pip_freeze.txt",), _packages),
    Reader(("python_--version.txt",), _python),
    Reader(COMPILERS, _compilers),
    Reader(("uname_-m.txt", "uname_-a.txt"), _machine),
)
