"""One GPU: its rank, its name, and the bar of its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.console.sizes import size
from launch.plans.picture.shapes import INK, OVER, PAPER, PARTS, RULE, SOFT, box, colour_of, cut, line, text, told

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from launch.plans.document import Gpu, MemoryPart

WIDTH, HEIGHT = 132, 76
BAR = 14


def draw(above: Element, x: float, y: float, gpu: Gpu, parts: Sequence[MemoryPart]) -> None:
    used = gpu.rank is not None
    frame = box(above, x, y, WIDTH, HEIGHT, stroke=colour_of(gpu.rank), stroke_width="2" if used else "1")
    told(frame, f"GPU {gpu.index}: {gpu.name}, {gpu.pci_address}" + ("" if used else f"; unused: {gpu.unused}"))
    text(above, x + 8, y + 18, f"GPU {gpu.index}", bold=True)
    if used:
        box(above, x + WIDTH - 70, y + 6, 62, 17, fill=colour_of(gpu.rank), stroke="none", rx="8")
        text(above, x + WIDTH - 39, y + 18, cut(f"rank {gpu.rank}", 9), size=11, fill=PAPER, bold=True, middle=True)
    else:
        text(above, x + WIDTH - 54, y + 18, "unused", size=11, fill=SOFT)
    memory = "" if gpu.memory_bytes is None else f" {size(gpu.memory_bytes)}"
    text(above, x + 8, y + 36, cut(f"{short_name(gpu.name)}{memory}", 21), size=11, fill=SOFT)
    _bar(above, x + 8, y + 46, parts if used else (), gpu.memory_bytes)


def short_name(name: str) -> str:
    """The name without its maker's: `GB200`, `MI355X`."""
    return name.removeprefix("NVIDIA ").removeprefix("AMD ").removeprefix("Instinct ")


def _bar(above: Element, x: float, y: float, parts: Sequence[MemoryPart], there: int | None) -> None:
    """What the memory holds, to scale; an empty frame where the plan does not tell; a mark where the GPU ends."""
    filled, width = sum(part.bytes for part in parts), WIDTH - 16
    whole, at = max(filled, there or 0), x
    for part in parts:
        if part.bytes <= 0:
            continue
        share = width * part.bytes / whole
        told(
            box(above, at, y, share, BAR, fill=PARTS.get(part.name, SOFT), stroke="none", rx="0"),
            f"{part.name}: {size(part.bytes)}",
        )
        at += share
    box(above, x, y, width, BAR, fill="none", stroke=INK if parts else RULE, rx="2", stroke_width="0.7")
    if there and filled > there:
        end = x + width * there / whole
        told(line(above, end, y - 4, end, y + BAR + 4, stroke=OVER, stroke_width="2"), f"the GPU has {size(there)}")
        text(above, x + width, y + BAR + 12, f"{size(filled - there)} too much", size=10, fill=OVER, end=True)
