"""Prefill/decode disaggregation: two pools of engines and a router in front of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.resolve import layers
from launch.resolve.case import ROLES, Case
from launch.resolve.gates import effective_strategies
from launch.resolve.parallel import DATA, LOCAL, TENSOR
from launch.resolve.result import NodeCommand, PoolLayout, Router

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MODES = ("tp", "tep", "dep")
PORTS = {"prefill": 8001, "decode": 8002}
# Settings of multi-node NVLink; on any other hardware they do not come up.
NVLINK_ONLY = (
    "VLLM_USE_NCCL_SYMM_MEM",
    "NCCL_CUMEM_ENABLE",
    "NCCL_MNNVL_ENABLE",
    "NCCL_NVLS_ENABLE",
    "UCX_NET_DEVICES",
)
NVLINK_HARDWARE = ("gb200", "gb300")


def offered_modes(case: Case) -> list[str]:
    """The parallelisms that the recipe's strategies have in common with what it allows for pools."""
    families = {family_of(name) for name in effective_strategies(case.recipe)}
    offered = [mode for mode in MODES if mode in families] or ["tp"]
    allowed = [mode for mode in offered if mode in case.override.pool_modes]
    return allowed or offered


def family_of(strategy: str) -> str | None:
    ending = strategy.rpartition("_")[2] if not strategy.endswith(("tp_pp", "tp_dp")) else "tp"
    return ending if ending in MODES else None


def nodes_of(case: Case, role: str) -> int:
    """Nodes of a pool; 0: both pools share one node."""
    wanted = case.pools.get(role)
    if wanted is not None and wanted.nodes is not None:
        return wanted.nodes
    return 1 if case.node_count > 1 else 0


def mode_of(case: Case, role: str) -> str:
    strategy_role = getattr(case.strategy, role)
    wanted = case.pools[role].parallelism if role in case.pools else None
    wanted = wanted or case.role(role).parallelism or (strategy_role.parallelism if strategy_role else None) or "tp"
    offered = offered_modes(case)
    return wanted if wanted in offered else offered[0]


def tensor_of(case: Case, role: str) -> int | None:
    """The tensor size within a rank of a data-parallel pool."""
    strategy_role = getattr(case.strategy, role)
    return case.role(role).tp or (strategy_role.tp if strategy_role else None)


def layout(case: Case, role: str) -> PoolLayout:
    nodes, mode = nodes_of(case, role), mode_of(case, role)
    gpus = case.gpus // 2 if nodes == 0 else nodes * case.gpus
    if mode != "dep":
        return PoolLayout(nodes, mode, max(1, gpus), 0, 1, gpus)
    tensor = tensor_of(case, role) or 1
    on_node = gpus if nodes == 0 else case.gpus  # pools that share a node have half of it each
    local = max(1, on_node // tensor)
    return PoolLayout(nodes, mode, tensor, local, max(1, nodes) * local, gpus)


def words(case: Case, role: str, rank: int) -> list[str]:
    """The parallel options of one node of a pool."""
    pool, name = layout(case, role), role.upper()
    index = min(rank, max(pool.nodes - 1, 0))
    first = f"${name}_NODE_1"
    if pool.parallelism != "dep":
        strategy_role = getattr(case.strategy, role)
        flag = case.role(role).parallel_flag or (strategy_role and strategy_role.parallel_flag)
        found = [flag or case.strategy.parallel_flag or TENSOR, str(pool.tp)]
        found += ["--enable-expert-parallel"] if pool.parallelism == "tep" else []
        if pool.nodes > 1:
            found += ["--nnodes", str(pool.nodes), "--node-rank", str(index), "--master-addr", first]
            found += ["--headless"] if index else []
        return found
    found = [TENSOR, str(pool.tp)] if tensor_of(case, role) else []
    found += [DATA, str(pool.dp_size), LOCAL, str(pool.dp_local)]
    found += ["--data-parallel-start-rank", str(index * pool.dp_local), "--data-parallel-address", first]
    found += ["--data-parallel-rpc-port", f"${name}_DP_RPC_PORT"]
    found += ["--data-parallel-hybrid-lb"] if pool.nodes > 1 else []
    return [*found, "--enable-expert-parallel"]


def env(case: Case, role: str, rank: int) -> dict[str, str]:
    pool, name = layout(case, role), role.upper()
    found = layers.env_of(case, role, place_env(case, role, pool))
    if case.hardware not in NVLINK_HARDWARE:
        found = {key: value for key, value in found.items() if key not in NVLINK_ONLY}
    if pool.parallelism == "dep" and rank > 0:
        own = {f"${name}_NODE_1": f"${name}_NODE_{rank + 1}"}
        found = {key: own.get(value, value) for key, value in found.items()}
    return found


def place_env(case: Case, role: str, pool: PoolLayout) -> dict[str, str]:
    """The GPUs of a pool on its node, and the interface where it spans several."""
    indices = range(case.gpus)
    if pool.nodes == 0:
        half = case.gpus // 2
        indices = range(half) if role == "prefill" else range(half, case.gpus)
        if case.gpus < 2:
            return {}
    found = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, indices))}
    if pool.nodes >= 2:
        found |= {"GLOO_SOCKET_IFNAME": "$IFACE_NAME", "NCCL_SOCKET_IFNAME": "$IFACE_NAME"}
    return found


def processes(case: Case) -> Iterator[NodeCommand]:
    for role in ROLES:
        nodes = nodes_of(case, role)
        for rank in range(max(1, nodes)):
            argv = layers.argv_of(case, words(case, role, rank), role)
            yield NodeCommand(role, rank, env(case, role, rank), argv, pool_nodes=nodes)


def router(case: Case, pools: Mapping[str, PoolLayout]) -> Router:
    """One address for each node of a data-parallel pool, the head's alone for the others."""
    spec = case.strategy.router
    policy = (spec.policy if spec else None) or "round_robin"
    argv = ["vllm-router", "--policy", policy, "--vllm-pd-disaggregation"]
    for role in ROLES:
        count = max(1, pools[role].nodes) if pools[role].parallelism == "dep" else 1
        for node in range(1, count + 1):
            argv += [f"--{role}", f"http://${role.upper()}_NODE_{node}:{PORTS[role]}"]
    override = case.override.router
    set_size = override.intra_node_data_parallel_size if override else None
    size = set_size or max(1, *(pool.dp_local for pool in pools.values()))
    argv += ["--host", "$ROUTER_HOST", "--port", "$ROUTER_PORT", "--intra-node-data-parallel-size", str(size)]
    return Router(tuple(argv), (spec.install if spec else None) or "uv pip install vllm-router", policy, None)
