"""One host: its NUMA nodes with their cores, GPUs and NICs, and the links between its GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.plans.picture import gpu as gpus
from launch.plans.picture.shapes import PAPER, SOFT, box, cut, text, told
from launch.sizes import counted, cpu_set, size

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from launch.plans.document import Gpu, Host, MemoryPart, Nic

GAP, EDGE = 10, 14
ROW = 4
"""GPUs side by side in a NUMA node."""
HEAD, NODE_HEAD, NICS = 58, 26, 24


@dataclass(frozen=True, slots=True)
class Node:
    """What is drawn as a NUMA node; the last one has no number: devices whose node is not told."""

    title: str
    detail: str
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]

    @property
    def width(self) -> float:
        columns = max(1, min(ROW, len(self.gpus)))
        return columns * (gpus.WIDTH + GAP) + GAP

    @property
    def height(self) -> float:
        rows = -(-len(self.gpus) // ROW)
        return NODE_HEAD + rows * (gpus.HEIGHT + GAP) + NICS


def nodes_of(host: Host) -> tuple[Node, ...]:
    """The NUMA nodes that have anything to show. A node without CPUs, GPUs and NICs is a GPU's own memory."""
    made = [
        Node(
            f"NUMA node {one.id}",
            f"CPUs {cpu_set(one.cpus)}, {size(one.memory_bytes)}" if one.cpus else size(one.memory_bytes),
            tuple(gpu for gpu in host.gpus if gpu.numa_node == one.id),
            tuple(nic for nic in host.nics if nic.numa_node == one.id),
        )
        for one in host.numa
    ]
    numbers = {one.id for one in host.numa}
    rest = Node(
        "no NUMA node told" if host.numa else "GPUs",
        "",
        tuple(gpu for gpu in host.gpus if gpu.numa_node not in numbers),
        tuple(nic for nic in host.nics if nic.numa_node not in numbers),
    )
    shown = [one for one in (*made, rest) if one.gpus or one.nics or "CPUs" in one.detail]
    return tuple(shown) or (rest,)


def extent(host: Host) -> tuple[float, float]:
    """Width and height of the whole drawing."""
    nodes = nodes_of(host)
    width = sum(one.width for one in nodes) + GAP * (len(nodes) - 1) + 2 * EDGE
    return max(width, 380), HEAD + max(one.height for one in nodes) + 28 + EDGE


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
    text(above, x + GAP, y + 17, node.title, size=11, bold=True)
    room = int((node.width - 100) / 5.6)
    text(above, x + GAP + 12 + 7 * len(node.title), y + 17, cut(node.detail, room), size=10, fill=SOFT)
    for at, gpu in enumerate(node.gpus):
        row, column = divmod(at, ROW)
        left, top = x + GAP + column * (gpus.WIDTH + GAP), y + NODE_HEAD + row * (gpus.HEIGHT + GAP)
        gpus.draw(above, left, top, gpu, parts)
    if node.nics:
        nics = text(above, x + GAP, y + height - 8, cut(_nics(node.nics), int(node.width / 5.6)), size=10, fill=SOFT)
        told(nics, "; ".join(f"{nic.name}: {_state(nic)}" for nic in node.nics))


def _nics(nics: Sequence[Nic]) -> str:
    return "NICs " + ", ".join(nic.name + ("" if nic.active else " (down)") for nic in nics)


def _state(nic: Nic) -> str:
    rate = "" if nic.gigabits is None else f", {nic.gigabits:g} Gbit/s"
    return f"{'active' if nic.active else 'not active'}, {nic.link_layer or 'link layer not told'}{rate}"


def _links(host: Host) -> str:
    """How GPUs reach each other: the kinds and how many pairs have each."""
    between = counted(link.kind for link in host.links)
    domain = f" · NVLink domain {host.clique}" if host.clique else ""
    return (f"between GPUs: {between}" if between else "links between GPUs are not told") + domain
