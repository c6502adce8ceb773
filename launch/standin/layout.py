"""Which ranks this host runs and how they are reached: vLLM's reading of its parallel options, with its refusals."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import StrEnum

from launch.standin.argv import Options
from launch.standin.log import Fault

# Options of which ranks of a mixture-of-experts model must agree. Rank, mode, addresses and rpc port may differ.
SHARED = (
    "data_parallel_size",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "decode_context_parallel_size",
    "enable_expert_parallel",
    "enable_eplb",
    "eplb_config",
    "all2all_backend",
    "cpu_distributed_timeout_seconds",
    "distributed_timeout_seconds",
    "dp_sync_interval",
)
NOT_SIMULATED = ("grpc", "uds", "ssl_keyfile", "config")


class Balancing(StrEnum):
    INTERNAL = "internal"
    HYBRID = "hybrid"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Layout:
    """`start`: the first data-parallel rank of this host. `nodes_of_rank`: over how many hosts one rank spans."""

    balancing: Balancing
    headless: bool
    size: int
    local: int
    start: int
    address: str
    rpc_port: int
    workers: int  # worker processes of one rank on this host; 0: the engine is its own worker
    nodes_of_rank: int
    node_rank: int
    master_address: str
    master_port: int
    api_servers: int
    moe: bool
    expert_parallel: bool
    tensor_parallel: int
    agreement: str  # hash of the options that all ranks must share

    @property
    def ranks(self) -> range:
        """The data-parallel ranks of this host."""
        return range(self.start, self.start + self.local)

    @property
    def local_only(self) -> bool:
        """API servers serve the ranks of their own host only."""
        return self.balancing is not Balancing.INTERNAL

    @property
    def served(self) -> range:
        """The ranks that this host's API servers serve."""
        return self.ranks if self.local_only else range(self.size)

    @property
    def one_host(self) -> bool:
        return self.local == self.size

    @property
    def coordinated(self) -> bool:
        """A coordinator runs with rank 0."""
        return self.size > 1 and (self.moe or self.balancing is not Balancing.EXTERNAL)

    @property
    def in_step(self) -> bool:
        """Data-parallel ranks that step together: they need all their peers for each token."""
        return self.moe and self.size > 1


def layout_of(options: Options, *, moe: bool) -> Layout:
    """Raises `Fault` with vLLM's text when the options contradict each other or the model."""
    refuse_contradictions(options)
    tensor, pipeline = options.number("tensor_parallel_size", 1), options.number("pipeline_parallel_size", 1)
    size, nodes = options.number("data_parallel_size", 1), options.number("nnodes", 1)
    world = tensor * pipeline * size
    if nodes > 1 and world % nodes:
        raise Fault(
            "ValueError: Invalid data-parallel launch options: "
            f"`--nnodes {nodes}` must evenly divide the total world size ({world})."
        )
    local, start, balancing = ranks_of(options, size, world // nodes, tensor * pipeline, moe=moe)
    headless = options.on("headless")
    spans = max(1, tensor * pipeline * nodes // world) if nodes > 1 else 1
    if spans > 1 and size > 1:
        raise not_simulated("data-parallel ranks that span hosts")
    uniproc = options.text("distributed_executor_backend") == "uni" or (size == 1 and world == 1)
    return Layout(
        balancing=balancing,
        headless=headless,
        size=size,
        local=local,
        start=start,
        address=options.text("data_parallel_address") or options.text("master_addr", "127.0.0.1"),
        rpc_port=options.number("data_parallel_rpc_port", 29550),
        workers=0 if uniproc else tensor * pipeline // spans,
        nodes_of_rank=spans,
        node_rank=options.number("node_rank") if spans > 1 else 0,
        master_address=options.text("master_addr", "127.0.0.1"),
        master_port=options.number("master_port", 29501),
        api_servers=0 if headless else api_servers(options, size, local, balancing),
        moe=moe,
        expert_parallel=options.on("enable_expert_parallel"),
        tensor_parallel=tensor,
        agreement=agreement(options),
    )


def ranks_of(
    options: Options, size: int, local_world: int, world_of_rank: int, *, moe: bool
) -> tuple[int, int, Balancing]:
    """(local size, start rank, balancing) as vLLM infers them."""
    nodes, node_rank = options.number("nnodes", 1), options.number("node_rank")
    inferred = node_rank * local_world // world_of_rank if nodes > 1 else 0
    local = options.optional("data_parallel_size_local")
    start = options.optional("data_parallel_start_rank")
    rank = options.optional("data_parallel_rank")
    if rank is not None or options.on("data_parallel_external_lb"):
        return 1, inferred if rank is None else rank, external(size, moe=moe)
    if local is None and nodes > 1:
        local = max(local_world // world_of_rank, 1)
    if local is None:
        if options.on("data_parallel_hybrid_lb"):
            raise Fault(
                "ValueError: Invalid data-parallel launch options: `--data-parallel-hybrid-lb` requires "
                "`--data-parallel-size-local`. Set it to the number of data-parallel ranks on this node."
            )
        return size, 0, Balancing.INTERNAL
    hybrid = options.on("data_parallel_hybrid_lb") or (start is not None and not options.on("headless"))
    start = inferred if start is None else start
    if not hybrid or local == size:
        return local, start, Balancing.INTERNAL
    return local, start, external(size, moe=moe) if local == 1 else Balancing.HYBRID


def external(size: int, *, moe: bool) -> Balancing:
    if size > 1 and not moe:
        raise Fault(
            "ValueError: Non-MoE models do not support external data parallel mode. For external load balancing, "
            "launch independent vLLM instances without --data-parallel-* arguments."
        )
    return Balancing.EXTERNAL if size > 1 else Balancing.INTERNAL


def refuse_contradictions(options: Options) -> None:
    for dest in NOT_SIMULATED:
        if options.on(dest):
            raise not_simulated(f"--{dest.replace('_', '-')}")
    if options.text("data_parallel_backend", "mp") == "ray":
        raise not_simulated("--data-parallel-backend ray")
    hybrid = options.on("data_parallel_hybrid_lb") or options.optional("data_parallel_start_rank") is not None
    outside = options.on("data_parallel_external_lb") or options.optional("data_parallel_rank") is not None
    if options.on("headless"):
        count = options.number("api_server_count")
        if count > 0:
            raise Fault(
                f"ValueError: --api-server-count={count} cannot be used with --headless (no API servers are "
                "started in headless mode)."
            )
        if options.on("data_parallel_hybrid_lb"):
            raise Fault("AssertionError: data_parallel_hybrid_lb is not applicable in headless mode")
    if hybrid and outside:
        raise Fault(
            "ValueError: Cannot use more than one data parallel load balancing mode. Choose one of: "
            "--data-parallel-multi-port-external-lb, --data-parallel-external-lb (or --data-parallel-rank), "
            "--data-parallel-hybrid-lb (or --data-parallel-start-rank)."
        )


def api_servers(options: Options, size: int, local: int, balancing: Balancing) -> int:
    """VLLM's default number of API servers of one host."""
    count = options.optional("api_server_count")
    if count is not None:
        return max(count, 1)
    return {Balancing.INTERNAL: size, Balancing.HYBRID: local, Balancing.EXTERNAL: 1}[balancing]


def agreement(options: Options) -> str:
    shared = repr([(dest, options.parsed.get(dest)) for dest in SHARED])
    return f"{zlib.crc32(shared.encode()):08x}"


def not_simulated(what: str) -> Fault:
    return Fault(f"NotImplementedError: SIMULATED stand-in engine: {what} is not simulated")
