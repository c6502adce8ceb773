from __future__ import annotations

from launch.placing.placement import LoadBalancing, Node, Placement, Rank
from launch.placing.processes import processes_of


def test_dp4_tp2_is_17_processes() -> None:
    """The handbook, 3: A + DP + N + (DP > 1), for DP4 TP2 on 8 GPUs 4 + 4 + 8 + 1.

    vLLM 0.33.0 has one more, which the text does not count: a launcher, where there are several API servers.
    """
    ranks = tuple(Rank(at, at, (2 * at, 2 * at + 1), None) for at in range(4))
    node = Node("one", 0, "10.0.0.1", "eth0", ranks, serves=True)
    placement = Placement(
        load_balancing=LoadBalancing.INTERNAL,
        tensor_parallel_size=2,
        data_parallel_size=4,
        nodes=(node,),
        http_port=8000,
        rpc_port=13345,
        reasons=(),
    )
    counted = processes_of(node, placement, api_servers=4)
    assert counted.total - counted.launchers == 17
    assert (counted.api_servers, counted.engine_cores, counted.workers, counted.coordinators) == (4, 4, 8, 1)
    assert counted.launchers == 1
