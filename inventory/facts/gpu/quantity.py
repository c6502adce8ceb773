"""Amounts and settings as the vendors' tools print them: `40960 MiB`, `[N/A]`, `Enabled`."""

from __future__ import annotations

import re

UNITS = {
    "": 1,
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    # AMD's tools write MB and GB and mean powers of two.
    "KB": 1 << 10,
    "MB": 1 << 20,
    "GB": 1 << 30,
    "TB": 1 << 40,
}
QUANTITY = re.compile(r"(\d{1,18})(?:\.(\d{1,6}))?\s*([KMGT]?i?B)?")
NOTHING = re.compile(r"\[?(n/?a|not supported|not available|unknown error|err!|none|not found|)[\],!]*", re.IGNORECASE)


def told(text: str) -> str | None:
    """The text, or None where the tool says that it has no value.

    Newer drivers add a remark: `13.3 [Deprecated; ... Use CUDA UMD Version instead]`.
    """
    bare = text.partition(" [Deprecated")[0].strip()
    return None if NOTHING.fullmatch(bare) else bare


def parse_bytes(text: str, *, unit: str = "") -> int | None:
    """Bytes in `40960 MiB`; `unit` is that of a bare number. None where there is no amount."""
    match = QUANTITY.fullmatch(text.strip())
    if match is None:
        return None
    scale = UNITS.get(match[3] or unit)
    if scale is None:
        return None
    return int(match[1]) * scale + int(float(f"0.{match[2] or 0}") * scale)


def parse_count(text: str) -> int | None:
    """A whole number; None for anything else."""
    return int(text) if re.fullmatch(r"\d{1,18}", text.strip()) else None


def parse_number(text: str) -> float | None:
    """`700.00` in `700.00 W`; None where there is no number."""
    match = re.match(r"\s*(\d{1,9}(?:\.\d{1,6})?)(?: |$)", text)
    return float(match[1]) if match else None


def parse_switch(text: str) -> bool | None:
    """`Enabled` or `Disabled`; None for anything else."""
    return {"enabled": True, "disabled": False}.get(text.strip().lower())


def parse_yes(text: str) -> bool | None:
    """`Yes` or `No`; None for anything else."""
    return {"yes": True, "no": False}.get(text.strip().lower())
