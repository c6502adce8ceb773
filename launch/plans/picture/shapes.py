"""The few SVG elements that the picture is made of. Text is escaped by the library that writes the elements."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif"
INK, SOFT, RULE, PAPER, OVER = "#1c2430", "#5b6675", "#c9d1db", "#ffffff", "#c0262d"
RANKS = ("#2f6fb7", "#c2611f", "#2c8c5a", "#8a4fb0", "#b2364a", "#6d7a1e", "#17808c", "#8c5a2b")
"""Colours of ranks, again from the start after the last: neighbours differ, also for the colour-blind."""
PARTS = {
    "weights": "#3d5a80",
    "activations": "#98c1d9",
    "graphs": "#e0a458",
    "kv": "#5fa777",
    "state": "#a989c5",
    "free": "#eef1f5",
    "outside": "#b8c0cc",
}
"""Colours of what a GPU's memory holds; parts that are not named here are grey."""


def colour_of(rank: int | None) -> str:
    return RULE if rank is None else RANKS[rank % len(RANKS)]


def box(above: Element, x: float, y: float, width: float, height: float, **style: str) -> Element:
    given = {"fill": PAPER, "stroke": RULE, "rx": "6", **{key.replace("_", "-"): value for key, value in style.items()}}
    place = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}"}
    return SubElement(above, "rect", {**place, **given})


def text(  # noqa: PLR0913  (how it looks)
    above: Element,
    x: float,
    y: float,
    said: str,
    *,
    size: int = 12,
    fill: str = INK,
    bold: bool = False,
    middle: bool = False,
    end: bool = False,
) -> Element:
    """`middle`, `end`: `x` is where the text has its middle, or ends."""
    weight = {"font-weight": "600"} if bold else {}
    weight |= {"text-anchor": "middle" if middle else "end"} if middle or end else {}
    made = SubElement(above, "text", {"x": f"{x:g}", "y": f"{y:g}", "font-size": str(size), "fill": fill, **weight})
    made.text = printable(said)
    return made


def told(above: Element, said: str) -> None:
    """What a reader is told who points at the element, or who has it read aloud."""
    SubElement(above, "title").text = printable(said)


def line(above: Element, x1: float, y1: float, x2: float, y2: float, **style: str) -> Element:
    given = {"stroke": SOFT, "stroke-width": "1.5", **{key.replace("_", "-"): value for key, value in style.items()}}
    ends = {"x1": f"{x1:g}", "y1": f"{y1:g}", "x2": f"{x2:g}", "y2": f"{y2:g}"}
    return SubElement(above, "line", {**ends, **given})


def cut(said: str, letters: int) -> str:
    """The text, at most so many letters long."""
    return said if len(said) <= letters else said[: letters - 1] + "…"


def printable(said: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in said)
