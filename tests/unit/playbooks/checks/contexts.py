"""The launch context of a healthy tray, to be changed by each test. Numbers are made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inventory.facts.host import HostFacts, LaunchContext, Limit, Pids, SharedMemory
from tests.unit.playbooks.checks.gang import tray

GIB = 2**30
NO_LIMIT = Limit(None, None)
HEALTHY = LaunchContext(
    where="systemd-unit",
    user="ops",
    uid=1000,
    groups=(1000, 44),
    cgroup="/system.slice/run-u7.service",
    locked_memory=NO_LIMIT,
    open_files=Limit(1048576, 1048576),
    processes=Limit(3_000_000, 3_000_000),
    cpus_allowed=tuple(range(144)),
    physical_cores=144,
    nodes_allowed=(0, 1),
    memory_policy="default",
    memory_maximum=None,
    pids=Pids(None, None, 6_000_000, 4_194_304, 2_000),
    shared_memory=SharedMemory(450 * GIB, 449 * GIB),
    environment=(),
    devices=(),
    ipc_lock=False,
    sys_nice=False,
)


def context(**fields: Any) -> LaunchContext:  # noqa: ANN401
    return replace(HEALTHY, **fields)


def inside(host: str = "tray1", **fields: Any) -> HostFacts:  # noqa: ANN401
    """A tray in whose launch context some things are other than usual."""
    return replace(tray(host), context=context(**fields))
