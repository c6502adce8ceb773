"""How many processes each host of a gang carries: the count behind the core rule. Pure.

Source: vLLM 0.33.0's process layout per mode (API servers, launcher, engine cores, workers, coordinator).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.placing.placement import LoadBalancing
from playbooks.requirements import Processes

if TYPE_CHECKING:
    from launch.placing.placement import Node, Placement


def processes_of(node: Node, placement: Placement, *, api_servers: int) -> Processes:
    """Count what `node` runs. A headless follower is one launcher with engine cores and workers."""
    return counted(
        serves=node.serves,
        local=placement.engine_cores(node),
        workers=len(node.ranks) * placement.gpus_per_part,
        api_servers=api_servers,
        each_serves=placement.load_balancing in {LoadBalancing.HYBRID, LoadBalancing.EXTERNAL},
        coordinates=placement.data_parallel_size > 1 and node.node_rank == 0,
    )


def counted(
    *, serves: bool, local: int, workers: int, api_servers: int, each_serves: bool, coordinates: bool
) -> Processes:
    """The processes of a host with `local` engine cores. `each_serves`: every host of the gang has API servers."""
    if not serves:
        launchers = 1
    elif each_serves:
        launchers = int(local > 1)
    else:
        launchers = int(api_servers > 1)
    return Processes(
        api_servers=api_servers,
        launchers=launchers,
        engine_cores=local,
        workers=workers,
        coordinators=int(coordinates),
    )
