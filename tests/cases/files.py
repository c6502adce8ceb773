"""Which file of a case tells which fact. A file that no reader names is reported: nothing is passed over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatch
from typing import Any

from inventory.facts.host import HostFacts
from tests.cases.plan import FILES as PLAN_FILES
from tests.cases.reader import Files
from tests.cases.readers import gpus, hosts, launch, stores, upkeep
from tests.cases.tried import NAMES as TRIED

READERS = (*hosts.READERS, *launch.READERS, *upkeep.READERS, *gpus.READERS, *stores.READERS)
OF_DIAGNOSIS = (
    *(
        "log",
        "*.log",
        "journal_*",
        "metrics_*",
        "probe.txt",
        "events.txt",
        "unit.txt",
        "systemctl_cat*",
        "systemctl_show*",
        "*parse*",
        "uptime_since.txt",
    ),
    *("apt_history.txt", "ps_compilers.txt", "stat_lock.txt", "cache_before.txt", "rocm-smi.txt", "dcgmi_health.txt"),
    *("curl_local_health.txt", "getent.txt", "nccl_info.txt"),
)
"""Read by diagnosis, or evidence beside the fact that decides."""


def is_read(name: str) -> bool:
    """Whether anybody reads a file of this name."""
    if any(reader.is_named(name) for reader in READERS):
        return True
    return any(fnmatch(name, one) for one in (*PLAN_FILES, *OF_DIAGNOSIS, *TRIED))


def facts(
    blank: HostFacts,
    own: Mapping[str, str],
    shared: Mapping[str, str],
    planned: Mapping[str, Any],
    plan: Mapping[str, Any],
) -> HostFacts:
    """`blank` with everything that the files of the host tell; `planned` is what the plan says of it."""
    given = Files(blank.host, own, shared, planned, plan)
    told = blank
    for reader in READERS:
        if reader.applies(given):
            told = replace(told, **reader.read(given, told))
    return told
