"""Hosts and facts of small gangs, for tests of what decides: real shapes, invented values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inventory.facts.base import Unknown, Why
from inventory.facts.host import Gpu, Gpus, HostFacts, Interface, Network, Route
from inventory.schema import Host

NOT_ASKED = Unknown(Why.NOT_ASKED)


def hosts(count: int, **settings: Any) -> list[Host]:  # noqa: ANN401  (those of a host)
    return [Host(name=f"tray{i + 1}", address=f"10.1.0.{i + 1}", **settings) for i in range(count)]


def gpu(index: int, *, numa: int | None = 0, name: str = "NVIDIA GB200", mig: bool = False) -> Gpu:
    return Gpu(
        index=index,
        name=name,
        uuid=f"GPU-{index}",
        memory_bytes=189471 << 20,
        pci_address=f"0000000{index}:01:00.0",
        numa_node=numa,
        compute_capability="10.0",
        mig_enabled=mig,
        processes=(),
    )


def gpus(count: int, name: str = "NVIDIA GB200") -> Gpus:
    devices = tuple(gpu(i, numa=i * 2 // max(count, 1), name=name) for i in range(count))
    return Gpus("nvidia" if count else "none", "580.82", "13.0", devices, simulated=False)


def network(index: int, all_hosts: Sequence[Host]) -> Network:
    return Network(
        interfaces=(
            Interface("lo", "up", 65536, ("127.0.0.1",), None),
            Interface("eth0", "up", 1500, (f"10.1.0.{index + 1}",), 1000),
            Interface("fab0", "up", 9000, (f"10.2.0.{index + 1}",), 400_000),
        ),
        routes=tuple(
            Route(address, "fab0" if address.startswith("10.2.") else "eth0", f"{address[:7]}{index + 1}")
            for host in all_hosts
            if host.name != f"tray{index + 1}"
            for address in (host.address, host.fabric_address)
            if address
        ),
        ephemeral_ports=(32768, 60999),
    )


def facts(all_hosts: Sequence[Host], gpu_counts: Sequence[int], name: str = "NVIDIA GB200") -> dict[str, HostFacts]:
    return {
        host.name: HostFacts(
            host=host.name,
            system=NOT_ASKED,
            cpu=NOT_ASKED,
            numa=NOT_ASKED,
            memory=NOT_ASKED,
            file_systems=NOT_ASKED,
            network=network(index, all_hosts),
            listeners=NOT_ASKED,
            gpus=gpus(count, name),
            software=NOT_ASKED,
            deployments=NOT_ASKED,
            noise="",
            seconds=0.0,
        )
        for index, (host, count) in enumerate(zip(all_hosts, gpu_counts, strict=True))
    }
