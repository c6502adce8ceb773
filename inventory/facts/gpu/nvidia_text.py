"""`nvidia-smi -q`: the same as its XML, as an indented outline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer, NvidiaGpu, pci_address, process
from inventory.facts.gpu.nvidia_xml import SLOWDOWNS
from inventory.facts.gpu.quantity import told
from inventory.facts.host import GpuProcess

GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*")
PROCESS_ID = "Process ID"
Path = tuple[str, ...]


@dataclass(slots=True)
class Block:
    """The outline of one GPU: the first value at each path, and how often each heading stands there."""

    address: str
    values: dict[Path, str] = field(default_factory=dict)
    headings: dict[Path, int] = field(default_factory=dict)
    processes: list[dict[str, str]] = field(default_factory=list)

    def get(self, *path: str) -> str | None:
        return self.values.get(path)


def parse_text(text: str) -> Maybe[NvidiaAnswer]:
    head, blocks = outline(text)
    if not blocks:
        return Unknown(Why.UNREADABLE, "no GPU in the answer of nvidia-smi -q")
    attached = head.get("Attached GPUs", "")
    return NvidiaAnswer(
        driver=told(head.get("Driver Version") or head.get("KMD Version") or ""),
        cuda=told(head.get("CUDA Version") or head.get("CUDA UMD Version") or ""),
        gpus=tuple(text_gpu(block) for block in blocks),
        attached=int(attached) if re.fullmatch(r"[0-9]{1,3}", attached) else None,
    )


def outline(text: str) -> tuple[Mapping[str, str], list[Block]]:
    """The lines before the first GPU, and one block for each GPU."""
    head: dict[str, str] = {}
    blocks: list[Block] = []
    for indent, label, value in entries(text):
        if value is None and indent == 0 and (match := GPU.fullmatch(label)):
            blocks.append(Block(match[1]))
            path: list[tuple[int, str]] = []
        elif not blocks:
            head.setdefault(label, value or "")
        else:
            path = [step for step in path if step[0] < indent]
            add(blocks[-1], tuple(name for _, name in path), label, value)
            path.append((indent, label))
    return head, blocks


def entries(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Indentation, label and value of each line; a heading has no value."""
    for line in text.expandtabs().splitlines():
        label, colon, value = line.partition(" : ")
        if not line.strip() or line.startswith("==="):
            continue
        bare = label.rstrip(": ") if not colon else label.strip()
        yield len(line) - len(line.lstrip()), bare.strip(), value.strip() if colon else None


def add(block: Block, above: Path, label: str, value: str | None) -> None:
    path = (*above, label)
    if value is None:
        block.headings[path] = block.headings.get(path, 0) + 1
        return
    block.values.setdefault(path, value)
    if above[:1] == ("Processes",) or label == PROCESS_ID:
        if label == PROCESS_ID:
            block.processes.append({})
        if block.processes:
            block.processes[-1].setdefault(label, value)


def text_gpu(block: Block) -> NvidiaGpu:
    return NvidiaGpu(
        name=block.get("Product Name") or "",
        pci_address=pci_address(block.address),
        uuid=block.get("GPU UUID") or "",
        memory=block.get("FB Memory Usage", "Total"),
        mig_mode=block.get("MIG Mode", "Current"),
        mig_devices=block.headings.get(("MIG Device",), 0),
        persistence=block.get("Persistence Mode"),
        addressing_mode=block.get("Addressing Mode"),
        compute_mode=block.get("Compute Mode"),
        ecc=block.get("ECC Mode", "Current") or block.get("Ecc Mode", "Current"),
        remap_pending=block.get("Remapped Rows", "Pending"),
        remap_failure=block.get("Remapped Rows", "Remapping Failure Occurred"),
        recovery_action=block.get("GPU Recovery Action"),
        fabric_state=block.get("Fabric", "State"),
        fabric_status=block.get("Fabric", "Status"),
        fabric_clique=block.get("Fabric", "CliqueId"),
        fabric_cluster=block.get("Fabric", "ClusterUUID"),
        fabric_health=fabric_health(block),
        peer_type=block.get("Platform Info", "Peer Type"),
        remapped_rows=block.get("Remapped Rows", "Uncorrectable Error"),
        uncorrectable=uncorrectable(block),
        slowdowns=slowdowns(block),
        power_limit=block.get("GPU Power Readings", "Current Power Limit")
        or block.get("GPU Power Readings", "Power Limit")
        or block.get("Power Readings", "Power Limit"),
        clock_max=block.get("Max Clocks", "SM"),
        vbios=block.get("VBIOS Version"),
        free=block.get("FB Memory Usage", "Free"),
        processes=tuple(one for one in map(text_process, block.processes) if one),
    )


def fabric_health(block: Block) -> tuple[tuple[str, str], ...]:
    """The labels as the XML has them: `Route Recovery in progress` is route_recovery_in_progress."""
    found = ((path[2], value) for path, value in block.values.items() if path[:2] == ("Fabric", "Health") and path[2:])
    return tuple((label.lower().replace(" ", "_"), value) for label, value in found)


def uncorrectable(block: Block) -> tuple[str, ...]:
    volatile = {path[1:]: value for path, value in block.values.items() if path[:2] == ("ECC Errors", "Volatile")}
    own = tuple(value for path, value in volatile.items() if "Uncorrectable" in path[-1])
    return own or tuple(value for path, value in volatile.items() if path[1:] == ("Double Bit", "Total"))


def slowdowns(block: Block) -> tuple[tuple[str, str], ...]:
    headings = ("Clocks Event Reasons", "Clocks Throttle Reasons")
    told = {path[-1].lower().replace(" ", "_"): value for path, value in block.values.items() if path[0] in headings}
    return tuple((name, told[name]) for name in SLOWDOWNS if name in told)


def text_process(fields: Mapping[str, str]) -> GpuProcess | None:
    return process(fields.get(PROCESS_ID, ""), fields.get("Name", ""), fields.get("Used GPU Memory", ""))
