"""One host: its NUMA nodes with their cores, GPUs and NICs, and the links between its GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.console.sizes import counted, cpu_set, size
from launch.plans.picture import gpu as gpus
from launch.plans.picture.shapes import PAPER, RULE, SOFT, box, cut, line, text, told

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from launch.plans.document import Gpu, Host, MemoryPart, Nic

GAP, EDGE = 10, 14
ROW = 4
"""GPUs side by side in a NUMA node."""
HEAD, NODE_HEAD = 58, 42
CHIP, STALK = 18, 8
"""The height of a NIC, and how far it hangs below its GPU."""
LETTER = 5.8
"""Pixels of a letter of the small texts, on average."""


@dataclass(frozen=True, slots=True)
class Node:
    """What is drawn as a NUMA node; the last one has no number: devices whose node is not told."""

    title: str
    memory: str
    detail: str
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]

    @property
    def width(self) -> float:
        columns = max(1, min(ROW, len(self.gpus)))
        return columns * (gpus.WIDTH + GAP) + GAP

    @property
    def hanging(self) -> dict[int, list[Nic]]:
        """The NICs below each GPU, by its index: each once, at the first of those that it is nearest to."""
        found: dict[int, list[Nic]] = {}
        for nic in self.nics:
            first = next((gpu.index for gpu in self.gpus if gpu.index in nic.near), None)
            if first is not None:
                found.setdefault(first, []).append(nic)
        return found

    @property
    def others(self) -> tuple[Nic, ...]:
        """The NICs that are near to no GPU here."""
        hanging = {nic.name for nics in self.hanging.values() for nic in nics}
        return tuple(nic for nic in self.nics if nic.name not in hanging)

    @property
    def cell(self) -> float:
        """The height of a GPU with the NICs below it."""
        most = max((len(nics) for nics in self.hanging.values()), default=0)
        return gpus.HEIGHT + most * (CHIP + STALK) + GAP

    @property
    def height(self) -> float:
        rows = -(-len(self.gpus) // ROW)
        columns = max(1, min(ROW, len(self.gpus)))
        return NODE_HEAD + rows * self.cell + -(-len(self.others) // columns) * (CHIP + STALK) + 2


def nodes_of(host: Host) -> tuple[Node, ...]:
    """The NUMA nodes that have anything to show. A node without CPUs, GPUs and NICs is a GPU's own memory."""
    made = [
        Node(
            f"NUMA node {one.id}",
            size(one.memory_bytes),
            f"CPUs {cpu_set(one.cpus)}" if one.cpus else "no CPUs",
            tuple(gpu for gpu in host.gpus if gpu.numa_node == one.id),
            tuple(nic for nic in host.nics if nic.numa_node == one.id),
        )
        for one in host.numa
    ]
    numbers = {one.id for one in host.numa}
    rest = Node(
        "no NUMA node told" if host.numa else "GPUs",
        "",
        "",
        tuple(gpu for gpu in host.gpus if gpu.numa_node not in numbers),
        tuple(nic for nic in host.nics if nic.numa_node not in numbers),
    )
    shown = [one for one in (*made, rest) if one.gpus or one.nics or one.detail.startswith("CPUs")]
    return tuple(shown) or (rest,)


def extent(host: Host) -> tuple[float, float]:
    """Width and height of the whole drawing."""
    nodes = nodes_of(host)
    width = sum(one.width for one in nodes) + GAP * (len(nodes) - 1) + 2 * EDGE
    return max(width, 380), HEAD + max(one.height for one in nodes) + 30


def draw(above: Element, x: float, y: float, host: Host, parts: Sequence[MemoryPart]) -> None:
    width, height = extent(host)
    frame = box(above, x, y, width, height, fill="#f7f9fb", rx="10", stroke="#8793a3")
    told(frame, f"{host.name}: {host.role}, node rank {host.node_rank}")
    text(above, x + EDGE, y + 24, cut(f"{host.name} · {host.role}", int(width / 9)), size=16, bold=True)
    where = f"{host.address} on {host.interface}" + (f" · serves {host.url}" if host.url else "")
    text(above, x + EDGE, y + 44, cut(where, int(width / 6)), size=11, fill=SOFT)
    at = x + EDGE
    for node in nodes_of(host):
        _node(above, at, y + HEAD, node, max(one.height for one in nodes_of(host)), parts)
        at += node.width + GAP
    text(above, x + EDGE, y + height - 14, cut(_links(host), int(width / 6)), size=11, fill=SOFT)


def _node(above: Element, x: float, y: float, node: Node, height: float, parts: Sequence[MemoryPart]) -> None:
    box(above, x, y, node.width, height, fill=PAPER)
    room = int((node.width - 2 * GAP) / LETTER)
    text(above, x + GAP, y + 17, cut(node.title, room), size=11, bold=True)
    text(above, x + node.width - GAP, y + 17, node.memory, size=10, fill=SOFT, end=True)
    text(above, x + GAP, y + 32, cut(node.detail, room), size=10, fill=SOFT)
    hanging = node.hanging
    for at, gpu in enumerate(node.gpus):
        row, column = divmod(at, ROW)
        left, top = x + GAP + column * (gpus.WIDTH + GAP), y + NODE_HEAD + row * node.cell
        for place, nic in enumerate(hanging.get(gpu.index, ())):
            below = top + gpus.HEIGHT + place * (CHIP + STALK)
            line(above, left + gpus.WIDTH / 2, below, left + gpus.WIDTH / 2, below + STALK)
            _nic(above, left, below + STALK, nic)
        gpus.draw(above, left, top, gpu, parts)
    columns = max(1, min(ROW, len(node.gpus)))
    under = y + NODE_HEAD + -(-len(node.gpus) // ROW) * node.cell
    for at, nic in enumerate(node.others):
        row, column = divmod(at, columns)
        _nic(above, x + GAP + column * (gpus.WIDTH + GAP), under + row * (CHIP + STALK), nic)


def _nic(above: Element, x: float, y: float, nic: Nic) -> None:
    """A NIC with its rate; dashed where none of its ports is active."""
    dashes = {} if nic.active else {"stroke_dasharray": "3 3"}
    frame = box(above, x, y, gpus.WIDTH, CHIP, fill="#eef3f8", stroke=SOFT if nic.active else RULE, rx="4", **dashes)
    told(frame, f"NIC {nic.name}: {_state(nic)}")
    rate = "down" if not nic.active else "" if nic.gigabits is None else f"{nic.gigabits:g} Gbit/s"
    text(above, x + 7, y + 13, cut(nic.name, 20 - len(rate)), size=10)
    text(above, x + gpus.WIDTH - 7, y + 13, rate, size=10, fill=SOFT, end=True)


def _state(nic: Nic) -> str:
    rate = "" if nic.gigabits is None else f", {nic.gigabits:g} Gbit/s"
    return f"{'active' if nic.active else 'not active'}, {nic.link_layer or 'link layer not told'}{rate}"


def _links(host: Host) -> str:
    """How GPUs reach each other: the kinds and how many pairs have each."""
    between = counted(link.kind for link in host.links)
    domain = f" · NVLink domain {host.clique}" if host.clique else ""
    return (f"between GPUs: {between}" if between else "links between GPUs are not told") + domain
