"""Rules of CONTRIBUTING.md that a search can keep."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENDORS = re.compile(r"nvidia-smi|amd-smi|rocm-smi|rocminfo")


def sources() -> list[Path]:
    found = [path for package in ("inventory", "playbooks", "launch") for path in (ROOT / package).rglob("*.py")]
    return [ROOT / "tasks.py", *sorted(found)]


def test_vendors_tools_are_named_where_they_are_read_or_simulated_only() -> None:
    allowed = (ROOT / "inventory/facts", ROOT / "inventory/lab", ROOT / "launch/standin")
    elsewhere = [path for path in sources() if not any(map(path.is_relative_to, allowed))]
    assert [str(path) for path in elsewhere if VENDORS.search(path.read_text(encoding="utf-8"))] == []


def test_functions_live_with_what_they_are_about() -> None:
    assert [
        str(path) for path in sources() if path.stem in {"utils", "util", "helpers", "helper", "misc", "common"}
    ] == []
