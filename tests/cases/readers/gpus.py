"""GPUs, drivers, NVLink and RDMA."""

from __future__ import annotations

from tests.cases.reader import Reader

READERS: tuple[Reader, ...] = ()
