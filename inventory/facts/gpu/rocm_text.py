"""`rocm-smi` and `rocminfo` as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.amd_gpu import AmdAnswer
from inventory.facts.gpu.amd_smi import driver_version
from inventory.facts.gpu.rocm_smi import lower_keys, rocm_gpu
from inventory.facts.jsontext import Fields

LINE = re.compile(r"^GPU\[(\d{1,3})\]\s*: (?:\(Topology\) )?([^:]+?)\s*: ?(.*?)\s*$", re.MULTILINE)
CONCISE = re.compile(
    r"^(\d{1,3})\s+\[(0x[0-9a-fA-F]+) : (?:0x)?[0-9a-fA-F]+\].*?\s([A-Z]+\d?|N/A), ([A-Z]+|N/A)\s.*\n(\s+)(\S.*?)\s*$",
    re.MULTILINE,
)
AGENT = re.compile(r"^Agent \d+\s*$", re.MULTILINE)
DRIVER = re.compile(r"^Driver version: *(\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ConciseGpu:
    """A GPU of the short table; its name is cut after 20 characters."""

    index: int
    device_id: str
    memory_partition: str
    compute_partition: str
    name: str


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent of rocminfo: CPUs are agents too, and have a marketing name."""

    name: str
    marketing_name: str
    type: str  # CPU, GPU


def parse_gpu_lines(text: str) -> dict[int, dict[str, str]]:
    """`GPU[0] : key: value` by GPU and key, `(Topology)` taken off the key."""
    gpus: dict[int, dict[str, str]] = {}
    for index, key, value in LINE.findall(text):
        gpus.setdefault(int(index), {}).setdefault(key, value)
    return gpus


def parse_rocm_text(text: str) -> Maybe[AmdAnswer]:
    """The lines `GPU[0] : key: value`, whose keys are those of its JSON."""
    cards = parse_gpu_lines(text)
    gpus = tuple(rocm_gpu(lower_keys(Fields(as_json_keys(card)))) for _, card in sorted(cards.items()))
    driver = driver_version(driver_line(text) or "")
    return AmdAnswer(driver, gpus) if gpus else Unknown(Why.UNREADABLE, "no GPU in the answer of rocm-smi")


def as_json_keys(card: dict[str, str]) -> dict[str, str]:
    """`(Topology) ` was taken off the keys."""
    return {f"(Topology) {key}" if key.startswith("Numa") else key: value for key, value in card.items()}


def parse_concise(text: str) -> tuple[ConciseGpu, ...]:
    return tuple(
        ConciseGpu(int(index), device_id, memory, compute, name)
        for index, device_id, memory, compute, _, name in CONCISE.findall(text)
    )


def driver_line(text: str) -> str | None:
    match = DRIVER.search(text)
    return match[1] if match else None


def parse_agents(text: str) -> tuple[Agent, ...]:
    """The agents of rocminfo in order."""
    parts = AGENT.split(text)[1:]
    return tuple(
        Agent(field(part, "Name"), field(part, "Marketing Name"), field(part, "Device Type")) for part in parts
    )


def field(text: str, label: str) -> str:
    """The agent's own line, indented by two: its instruction sets below have a `Name` too."""
    match = re.search(rf"^  {re.escape(label)}:[ \t]*(.*?)[ \t]*$", text, re.MULTILINE)
    return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class Partitions:
    """`cards`: PCI addresses of the cards; `mode`: by how many GPUs a card shows as, None if that is not one number."""

    cards: tuple[str, ...]
    mode: str | None


def partition_mode(buses: Iterable[str]) -> Partitions:
    """Partitions show as functions .1, .2, ... of their card, which do not exist on the bus."""
    counts = Counter(re.sub(r"\.[0-7]$", ".0", bus) for bus in buses)
    sizes = set(counts.values())
    mode = {1: "SPX", 2: "DPX", 3: "TPX", 4: "QPX", 8: "CPX"}.get(sizes.pop()) if len(sizes) == 1 else None
    return Partitions(tuple(counts), mode)
