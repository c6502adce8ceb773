"""What the outputs of commands in a capture say beside a failure, quoted. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.diagnosis.capture import Capture
    from launch.diagnosis.told import Found

MOST = 6
LONGEST = 160


@dataclass(frozen=True, slots=True)
class Quote:
    """Lines of a host's files that `line` matches. `everywhere`: of all hosts, because the difference tells."""

    files: tuple[str, ...]
    line: str
    everywhere: bool = False


MTU = Quote(("ip_link*", "ip_-*link*", "ibv_devinfo*"), r"^\d+: (?!lo:)\S+: .*\bmtu \d+|active_mtu")
LIMIT = ("*limits*", "ulimit*", "systemctl_show*", "systemctl_cat*")
MOUNTS = ("findmnt*", "proc_mounts*", "mount*")
QUOTES: Mapping[str, tuple[Quote, ...]] = MappingProxyType(
    {
        "F-LOC-LEN": (Quote(MTU.files, MTU.line, everywhere=True),),
        "F-MEMLOCK": (Quote(LIMIT, r"locked memory|LimitMEMLOCK|^max locked"),),
        "F-NOFILE": (Quote(LIMIT, r"open files|LimitNOFILE"),),
        "F-PTHREAD": (Quote((*LIMIT, "*pids*"), r"processes|TasksMax|TasksCurrent|pids|^\d+$"),),
        "F-SHM": (Quote(("df*", *MOUNTS, "ls_*shm*"), r"/shm\b|nccl-|psm_|vllm"),),
        "F-DISK-FULL": (Quote(("df*",), r"\b(?:100|9[5-9])%| 0\s*$"), Quote(("docker_info*",), r"/")),
        "F-FABRIC-802": (
            Quote(("*smi_-q*",), r"^\s+(?:State|Status)\s+: (?!Completed|Success)\S"),
            Quote(("systemctl_is-active*",), r"^(?:in)?active|failed|unknown"),
        ),
        "F-COMPAT-803": (
            Quote(("*ldconfig*",), r"libcuda\.so"),
            Quote(("*-smi*", "proc_driver*"), r"\d{3}\.\d+(?:\.\d+)?"),
        ),
        "F-FWCOMPAT-804": (Quote(("*-smi*", "proc_driver*"), r"\d{3}\.\d+(?:\.\d+)?"),),
        "F-DRIVER-GONE": (Quote(("uname*", "dkms*", "lsmod*"), r"nvidia|amdgpu|^\d+\.\d+"),),
        "F-NO-KERNEL-IMAGE": (Quote(("*-smi*", "*compute_cap*", "*arch_list*"), r"\d+\.\d|sm_\d+"),),
        "F-NVML-UNKNOWN": (Quote(("journal*",), r"[Rr]eloading|daemon-reload"),),
        "F-GLOO-LOOPBACK": (Quote(("getent*", "etc_hosts*"), r"\b127\.(?!0\.0\.1\s+localhost)|^::1(?!\s+localhost)"),),
        "F-IFACE-NOADDR": (Quote(("ip_addr*", "ip_-*addr*"), r"\b\d+\.\d+\.\d+\.\d+/"),),
        "F-GID-EMPTY": (Quote(("show_gids*", "gids*", "rdma_gid*"), r"v2|::ffff:"),),
        "F-STALE-HANDLE": (Quote(MOUNTS, r"\b(?:nfs4?|lustre|beegfs|ceph|gpfs|wekafs|fuse\S*|cifs)\b"),),
        "F-NOEXEC": (Quote(MOUNTS, r"\bnoexec\b"),),
        "F-EXEC-FORMAT": (Quote(("uname*", "*inspect*", "manifest*"), r"[Aa]rchitecture|^(?:aarch64|x86_64)"),),
        "F-IMEX-NOTPERM": (
            Quote(("ls*imex*", "ls*nvidia-caps*", "*imex*"), r"channel|no such|[Dd]enied|READY|UP|DOWN"),
        ),
        "F-NUMA-EXIT1": (Quote(("numactl*", "*status*"), r"rc=|Mems_allowed_list"),),
        "F-DOCKER-GPU": (Quote(("docker_info*", "daemon.json*"), r"[Rr]untime|nvidia"),),
    }
)


def beside(found: Found, capture: Capture) -> tuple[str, ...]:
    """`host: line` of what the capture has beside this failure."""
    told: dict[str, None] = {}
    for quote in QUOTES.get(found.id, ()):
        for host in capture.hosts if quote.everywhere else (found.host,):
            told.update(dict.fromkeys(f"{host}: {one}" for one in _lines(quote, host, capture)))
    return tuple(told)[: MOST * (2 if any(one.everywhere for one in QUOTES.get(found.id, ())) else 1)]


def _lines(quote: Quote, host: str, capture: Capture) -> Iterator[str]:
    form = re.compile(quote.line)
    lines = (line for text in capture.texts(host, *quote.files) for line in text.splitlines() if form.search(line))
    for _, line in zip(range(MOST), lines, strict=False):
        yield " ".join(line.split())[:LONGEST]
