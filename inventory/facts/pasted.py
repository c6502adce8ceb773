"""What a person pasted: the output of lscpu, nvidia-smi, topo -m, ibstat, ... or a whole report of `vllm collect-env`.

For a host that we cannot log in to. Each text is recognised by what it says, not by its file's name. A text tells of
the machine: what a process there may use, and how the machine is now, stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.blocks import parse_lsblk
from inventory.facts.collect_env import Report, parse_report
from inventory.facts.cpulist import parse_list
from inventory.facts.gpu.pasted import parse_gpus
from inventory.facts.host import Block, Cpu, HostFacts, NumaNode, RdmaDevice
from inventory.facts.lscpu import Lscpu
from inventory.facts.numactl import parse_numactl
from inventory.facts.rdma_text import (
    parse_ibdev2netdev,
    parse_ibstat,
    parse_ibstatus,
    parse_ibv_devinfo,
    parse_rdma_link,
)

T = TypeVar("T")
NOT_PASTED = Unknown(Why.NOT_ASKED, "not in what was pasted")
RDMA_READERS = (
    (re.compile(r"^CA '", re.MULTILINE), parse_ibstat),
    (re.compile(r"^Infiniband device '", re.MULTILINE), parse_ibstatus),
    (re.compile(r"^hca_id:", re.MULTILINE), parse_ibv_devinfo),
    (re.compile(r'"physical_state"'), parse_rdma_link),
    (re.compile(r"==>"), parse_ibdev2netdev),
)


def read_pasted(host: str, texts: Iterable[str]) -> HostFacts:
    """The facts that the texts hold; of two texts on one subject the first counts."""
    all_texts = tuple(texts)
    reports = tuple(parse_report(text) for text in all_texts)
    numa = first(pasted_numa(all_texts, reports))
    return HostFacts(
        host=host,
        system=NOT_PASTED,
        cpu=first(cpu for report in reports if report.cpu and (cpu := machine_cpu(report.cpu))),
        numa=numa,
        memory=NOT_PASTED,
        file_systems=NOT_PASTED,
        network=NOT_PASTED,
        listeners=NOT_PASTED,
        gpus=parse_gpus(all_texts, reports, () if isinstance(numa, Unknown) else numa),
        software=NOT_PASTED,
        deployments=NOT_PASTED,
        noise="",
        seconds=0.0,
        rdma=first(filter(None, (pasted_rdma(text) for text in all_texts))),
        blocks=first(filter(None, (pasted_blocks(text) for text in all_texts))),
    )


def first(found: Iterator[T]) -> Maybe[T]:
    return next(found, NOT_PASTED)


def machine_cpu(told: Lscpu) -> Cpu | None:
    """The machine's CPUs; None where lscpu cannot say how many cores those that are online are (some are offline)."""
    if not told.online or told.offline or not told.cores:
        return None
    online = parse_list(told.online)
    return Cpu(
        model=told.model or "",
        sockets=told.sockets or 0,
        online=online,
        allowed=online,
        physical_cores=told.cores,
        physical_cores_machine=told.cores,
    )


def pasted_numa(texts: tuple[str, ...], reports: tuple[Report, ...]) -> Iterator[tuple[NumaNode, ...]]:
    """Numactl tells memory too, so it comes first."""
    yield from filter(None, map(parse_numactl, texts))
    for report in reports:
        if report.cpu and report.cpu.numa_nodes:
            yield tuple(NumaNode(node, parse_list(cpus), 0) for node, cpus in sorted(report.cpu.numa_nodes.items()))


def pasted_rdma(text: str) -> tuple[RdmaDevice, ...]:
    return next((read(text) for pattern, read in RDMA_READERS if pattern.search(text)), ())


def pasted_blocks(text: str) -> tuple[Block, ...]:
    return parse_lsblk(text) if '"blockdevices"' in text or re.search(r'NAME="[^"]+" TYPE=', text) else ()
