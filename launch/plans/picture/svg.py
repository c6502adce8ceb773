"""The whole picture as one SVG file. Pure: the same plan gives the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, indent, tostring

from launch.plans.lines import memory_lines, sizes
from launch.plans.memory_bar import gb
from launch.plans.picture import host as hosts
from launch.plans.picture.shapes import FONT, INK, OVER, PAPER, PARTS, SOFT, box, cut, line, text, told

if TYPE_CHECKING:
    from launch.plans.document import Host, LaunchPlan

MARGIN, BETWEEN = 28, 30
TITLE, LEGEND = 124, 40
STEM, ABOVE = 24, 12
"""Where the line to other hosts leaves a host, and how far above it that runs."""
WIDEST = 2600
"""Pixels after which the next host begins a new row."""

Placed = list[tuple["Host", float, float]]


def svg(plan: LaunchPlan) -> str:
    placed, width, height = _placed(plan)
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:g} {height:g}",
            "width": f"{width:g}",
            "height": f"{height:g}",
            "font-family": FONT,
            "role": "img",
        },
    )
    told(root, f"{plan.name} on {plan.layout.nodes} x {plan.layout.hardware}: {sizes(plan)}")
    box(root, 0, 0, width, height, fill=PAPER, stroke="none", rx="0")
    _title(root, plan, width)
    _network(root, placed, plan)
    for host, x, y in placed:
        hosts.draw(root, x, y, host, plan.memory.parts)
    _legend(root, plan, height - LEGEND + 8)
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def _placed(plan: LaunchPlan) -> tuple[Placed, float, float]:
    """Where each host stands, in rows, and how large the picture is."""
    placed: Placed = []
    x, y, row, widest = float(MARGIN), float(TITLE), 0.0, 0.0
    for host in plan.hosts:
        width, height = hosts.extent(host)
        if x > MARGIN and x + width > WIDEST:
            x, y, row = float(MARGIN), y + row + BETWEEN, 0.0
        placed.append((host, x, y))
        x, row = x + width + BETWEEN, max(row, height)
        widest = max(widest, x)
    return placed, max(widest - BETWEEN + MARGIN, 760), y + row + LEGEND + BETWEEN


def _title(root: Element, plan: LaunchPlan, width: float) -> None:
    letters = int((width - 2 * MARGIN) / 8)
    text(
        root,
        MARGIN,
        36,
        cut(f"{plan.name}: {plan.model.repository} ({plan.model.variant})", letters),
        size=20,
        bold=True,
    )
    layout = plan.layout
    what = f"{layout.nodes} x {layout.hardware}, {layout.strategy}: {sizes(plan)} · vLLM {plan.engine.vllm}"
    text(root, MARGIN, 58, cut(what, letters), size=13)
    first, *rest = (line.strip() for line in memory_lines(plan.memory))
    cache = next((line for line in rest if line.startswith("KV cache")), "")
    said = cut(" · ".join(filter(None, (first, cache))), int((width - 2 * MARGIN) / 6.2))
    text(root, MARGIN, 78, said, size=12, fill=OVER if plan.memory.fits is False else INK)
    made_up = ["simulated hardware"] if plan.inputs.simulated else []
    made_up += ["assumed from the hardware profile: no host was asked"] if plan.inputs.assumed else []
    text(root, MARGIN, 97, cut(" · ".join([f"plan {plan.inputs.digest}", *made_up]), letters), size=11, fill=SOFT)


def _network(root: Element, placed: Placed, plan: LaunchPlan) -> None:
    """From the head to every other host, over which the ranks join: a line above each row, joined at the left edge."""
    (head, *others) = placed
    if not others:
        return
    rows = sorted({top for _, _, top in placed})
    for top in rows:
        ends = [left for _, left, at in placed if at == top]
        start = MARGIN / 2 if len(rows) > 1 else ends[0] + STEM
        line(root, start, top - ABOVE, ends[-1] + STEM, top - ABOVE, stroke_dasharray="5 4")
    if len(rows) > 1:
        line(root, MARGIN / 2, rows[0] - ABOVE, MARGIN / 2, rows[-1] - ABOVE, stroke_dasharray="5 4")
    line(root, head[1] + STEM, head[2] - ABOVE, head[1] + STEM, head[2], stroke_width="3")
    for host, left, top in others:
        made = line(root, left + STEM, top - ABOVE, left + STEM, top)
        told(made, f"{host.name} joins {plan.head.name} at {plan.head.address}:{plan.layout.rpc_port}")


def _legend(root: Element, plan: LaunchPlan, y: float) -> None:
    x = float(MARGIN)
    for part in plan.memory.parts:
        box(root, x, y, 12, 12, fill=PARTS.get(part.name, SOFT), stroke="none", rx="2")
        made = text(root, x + 17, y + 10, f"{part.name} {gb(part.bytes)}", size=11, fill=INK)
        x += 17 + 7 * len(made.text or "") + 18
    if not plan.memory.parts:
        used = any(gpu.rank is not None for host in plan.hosts for gpu in host.gpus)
        why = "memory of a GPU: not known for this model" if used else "no rank uses a GPU"
        text(root, x, y + 10, why, size=11, fill=SOFT)
