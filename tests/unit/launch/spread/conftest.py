"""A swarm whose first host, `a`, has a folder of a few pieces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.launch.spread.swarm import Swarm, fill

MIB = 1 << 20
FILES = {
    "config.json": b"{}",
    "empty": b"",
    "model-1.safetensors": os.urandom(9 * MIB + 5),
    "model-2.safetensors": os.urandom(4 * MIB),
    "original/params.pth": os.urandom(5 * MIB),
}


@pytest.fixture
def swarm(tmp_path: Path) -> Iterator[Swarm]:
    one = Swarm(tmp_path, ("a", "b", "c", "d"), fill(tmp_path / "a" / "model", FILES))
    yield one
    one.end()
