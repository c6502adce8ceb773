"""What logs say: `tests/fixtures/failures.yaml`, read once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inventory.yamlfile import read_plain

TOLD: Any = read_plain(Path(__file__).parents[3] / "fixtures/failures.yaml")
FIELD: dict[str, list[str]] = TOLD["field"]
KERNEL: dict[str, list[str]] = TOLD["kernel"]
ENGINE: dict[str, list[str]] = TOLD["engine"]
HARMLESS: list[str] = TOLD["harmless"]
NOT_HARDWARE: list[str] = TOLD["not_hardware"]
ALL = [(name, text) for own in (FIELD, ENGINE) for name, texts in own.items() for text in texts]
