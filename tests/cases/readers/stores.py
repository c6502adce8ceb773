"""Network, storage and runtime."""

from __future__ import annotations

from tests.cases.reader import Reader

READERS: tuple[Reader, ...] = ()
