"""How far GPUs are from NICs by the bridges above both, where the vendor's tool has no matrix of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inventory.facts.answers import Answers
from inventory.facts.base import Unknown
from inventory.facts.gpu.pci import PciDevice, normalise
from inventory.facts.host import Link
from inventory.facts.rdma import by_number

ADDRESS = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
PATH = re.compile(rf"(?m)/(pci[0-9a-fA-F]{{4,8}}:[0-9a-fA-F]{{2}})((?:/{ADDRESS})+)(?:/infiniband/(\S+))?$")


@dataclass(frozen=True, slots=True)
class Place:
    """`root`: the host bridge; `above`: the bridges from it down to the device at `address`."""

    root: str
    above: tuple[str, ...]
    address: str
    name: str  # of an RDMA device


def parse_places(text: str) -> tuple[Place, ...]:
    """Paths of /sys/devices, one a line; of RDMA devices with `/infiniband/NAME` behind. Virtual ones have no place."""
    found = []
    for root, below, name in PATH.findall(text):
        *above, address = below.strip("/").split("/")
        found.append(Place(root, tuple(above), normalise(address), name))
    return tuple(found)


def nic_links(answers: Answers, gpus: Sequence[str], pci: Sequence[PciDevice]) -> tuple[Link, ...]:
    """From each GPU (addresses, by index) to each RDMA device. Partitions of a card are where the card is."""
    texts = [answers.text(name) for name in ("bridges.paths", "rdma.paths")]
    told = [() if isinstance(text, Unknown) else parse_places(text) for text in texts]
    places = {card(one.address): one for one in told[0]}
    nics = sorted((one for one in told[1] if one.name), key=lambda one: by_number(one.name))
    nodes = {one.address: one.numa_node for one in pci}
    pairs = ((index, places.get(card(address)), nic) for index, address in enumerate(gpus) if address for nic in nics)
    return tuple(
        Link(index, nic.name, kind) for index, gpu, nic in pairs if gpu and (kind := distance(gpu, nic, nodes))
    )


def card(address: str) -> str:
    return address.partition(".")[0]


def distance(one: Place, other: Place, nodes: Mapping[str, int | None]) -> str:
    """In the words of `nvidia-smi topo -m`; empty where the nodes that decide are not known."""
    if one.root != other.root:
        near = (nodes.get(one.address), nodes.get(other.address))
        return "" if None in near else "NODE" if near[0] == near[1] else "SYS"
    shared = next(
        (at for at, (mine, its) in enumerate(zip(one.above, other.above, strict=False)) if mine != its),
        min(len(one.above), len(other.above)),
    )
    if not shared:
        return "PHB"
    # One switch: a port of it above each. More bridges between them are more switches.
    return "PIX" if len(one.above) + len(other.above) - 2 * shared <= 2 else "PXB"
