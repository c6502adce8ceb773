"""How many processes each host of a gang carries: the count behind the core rule. Pure.

Source: vLLM 0.33.0's process layout per mode (API servers, launcher, engine cores, workers, coordinator).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.placement import LoadBalancing
from playbooks.requirements import Processes

if TYPE_CHECKING:
    from launch.placement import Node, Placement


def processes_of(node: Node, placement: Placement, *, api_servers: int) -> Processes:
    """Count what `node` runs. A headless follower is one launcher with engine cores and workers."""
    local = placement.engine_cores(node)
    is_coordinator = placement.data_parallel_size > 1 and node.node_rank == 0
    if not node.serves:
        launchers = 1
    elif placement.load_balancing in {LoadBalancing.HYBRID, LoadBalancing.EXTERNAL}:
        launchers = int(local > 1)
    else:
        launchers = int(api_servers > 1)
    return Processes(
        api_servers=api_servers,
        launchers=launchers,
        engine_cores=local,
        workers=len(node.ranks) * placement.gpus_per_part,
        coordinators=int(is_coordinator),
    )
