"""Options that exclude or need each other.

What vLLM 0.32 and 0.33 refuse when they make the engine, and what they would silently turn into something
else. Read in their `entrypoints/cli/serve.py`, `engine/arg_utils.py`, `config/parallel.py` and
`entrypoints/launchers/dp_supervisor.py`; the two agree on all of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from launch.vllm_args.parse import Kind, Parsed, Refusal, load


@dataclass(frozen=True, slots=True)
class Modes:
    """The options that decide the layout, by vLLM's names; None is "not given"."""

    headless: bool
    hybrid: bool
    external: bool
    multi_port: bool
    size: int
    local: int | None
    rank: int | None
    start: int | None
    nnodes: int
    node_rank: int
    world_in_rank: int
    api_servers: int | None
    address: str | None
    backend: str


def modes_of(parsed: Parsed) -> Modes:
    def number(dest: str, default: int = 1) -> int:
        found = parsed.get(dest)
        return found if isinstance(found, int) else default

    sizes = ("tensor_parallel_size", "pipeline_parallel_size", "prefill_context_parallel_size")
    world = number(sizes[0]) * number(sizes[1]) * number(sizes[2])
    return Modes(
        headless=bool(parsed.get("headless")),
        hybrid=bool(parsed.get("data_parallel_hybrid_lb")),
        external=bool(parsed.get("data_parallel_external_lb")),
        multi_port=bool(parsed.get("data_parallel_multi_port_external_lb")),
        size=number("data_parallel_size"),
        local=parsed.get("data_parallel_size_local"),
        rank=parsed.get("data_parallel_rank"),
        start=parsed.get("data_parallel_start_rank"),
        nnodes=number("nnodes"),
        node_rank=number("node_rank", 0),
        world_in_rank=world,
        api_servers=parsed.get("api_server_count"),
        address=parsed.values.get("data_parallel_address") or parsed.values.get("master_addr"),
        backend=str(parsed.get("data_parallel_backend")),
    )


def conflict(token: str, reason: str, nearest: str = "") -> Refusal:
    return Refusal(Kind.CONFLICT, token, reason, nearest)


def conflicts(parsed: Parsed, env: Mapping[str, str]) -> Iterator[Refusal]:
    """All conflicts of one command line. `env` is the environment that it is started with."""
    modes = modes_of(parsed)
    for rule in (load_balancing, headless, hybrid, external, multi_port, start_rank, ranks, nodes, addresses):
        yield from rule(modes)
    yield from parallelism(parsed, modes)
    yield from supervised(parsed, modes)
    yield from pairs(parsed, env)
    yield from lora_modules(parsed)
    yield from unseen(parsed)


def load_balancing(modes: Modes) -> Iterator[Refusal]:
    wanted = {
        "--data-parallel-multi-port-external-lb": modes.multi_port,
        "--data-parallel-external-lb": modes.external,
        "--data-parallel-rank": modes.rank is not None,
        "--data-parallel-hybrid-lb": modes.hybrid,
        "--data-parallel-start-rank": modes.start is not None and not (modes.hybrid or modes.multi_port),
    }
    given = [flag for flag, on in wanted.items() if on]
    if len(given) > 1 and set(given) != {"--data-parallel-external-lb", "--data-parallel-rank"}:
        yield conflict(" ".join(given), "more than one data parallel load-balancing mode", given[0])


def headless(modes: Modes) -> Iterator[Refusal]:
    if modes.headless and (modes.api_servers or 0) > 0:
        yield conflict("--headless --api-server-count", "a headless node starts no API server", "--headless")
    if modes.headless and modes.hybrid:
        reason = "a headless node serves no requests, and hybrid load balancing serves them on every node"
        yield conflict("--headless --data-parallel-hybrid-lb", reason, "--data-parallel-hybrid-lb")
    if modes.headless and modes.local == 0:
        yield conflict("--headless --data-parallel-size-local 0", "a headless node needs a rank to run")


def hybrid(modes: Modes) -> Iterator[Refusal]:
    if not modes.hybrid:
        return
    if modes.local is None and modes.nnodes == 1:
        reason = "hybrid load balancing needs the number of ranks of this node"
        yield conflict("--data-parallel-hybrid-lb", reason, "--data-parallel-hybrid-lb --data-parallel-size-local N")
    elif modes.local == 1 and modes.size > 1:
        reason = "with one rank on the node vLLM switches to external load balancing"
        yield conflict("--data-parallel-hybrid-lb", reason, "--data-parallel-external-lb --data-parallel-rank RANK")
    elif modes.local == modes.size:
        reason = "all ranks are on this node: vLLM switches hybrid load balancing off"
        yield conflict("--data-parallel-hybrid-lb", reason, "leave it out")


def external(modes: Modes) -> Iterator[Refusal]:
    inferred = modes.nnodes > 1 and modes.size > 1
    if modes.external and modes.rank is None and not inferred:
        reason = "external load balancing needs the rank of this process"
        yield conflict("--data-parallel-external-lb", reason, "--data-parallel-rank RANK")
    if (modes.external or modes.rank is not None) and modes.local not in (None, 1):
        token = f"--data-parallel-size-local {modes.local}"
        yield conflict(token, "an external rank is alone in its process", "--data-parallel-size-local 1")
    if modes.external and modes.size == 1:
        yield conflict("--data-parallel-external-lb", "needs more than one data parallel rank")


def multi_port(modes: Modes) -> Iterator[Refusal]:
    flag = "--data-parallel-multi-port-external-lb"
    if not modes.multi_port:
        return
    if modes.api_servers not in (None, 1):
        yield conflict(f"{flag} --api-server-count", "one API server per rank is fixed", flag)
    if modes.local is None or modes.local < 2 or modes.size % modes.local:
        reason = "needs --data-parallel-size-local of at least 2 that divides --data-parallel-size"
        yield conflict(flag, reason, f"{flag} --data-parallel-size-local N")


def supervised(parsed: Parsed, modes: Modes) -> Iterator[Refusal]:
    """What vLLM's supervisor of several servers does not take, and its port among theirs."""
    if not modes.multi_port:
        return
    flag = "--data-parallel-multi-port-external-lb"
    for dest in ("grpc", "uds"):
        if parsed.get(dest):
            yield conflict(f"{flag} --{dest}", "its servers speak HTTP on a port each", flag)
    first, own = parsed.get("port"), parsed.get("data_parallel_supervisor_port")
    if isinstance(first, int) and isinstance(own, int) and first <= own < first + (modes.local or 1):
        last = first + (modes.local or 1) - 1
        reason = f"the supervisor's port is one of the servers' {first} to {last}"
        nearest = f"--data-parallel-supervisor-port {last + 1}"
        yield conflict(f"--data-parallel-supervisor-port {own}", reason, nearest)


def start_rank(modes: Modes) -> Iterator[Refusal]:
    if modes.start is None:
        return
    if modes.local is None:
        reason = "is ignored without the number of ranks of this node"
        yield conflict("--data-parallel-start-rank", reason, "--data-parallel-size-local N")
    elif not (modes.headless or modes.hybrid or modes.multi_port) and modes.local != modes.size:
        reason = "without --headless vLLM takes it for hybrid load balancing, and the nodes must agree on that"
        yield conflict("--data-parallel-start-rank", reason, "--data-parallel-hybrid-lb or --headless")


def ranks(modes: Modes) -> Iterator[Refusal]:
    if modes.local is not None and modes.local > modes.size:
        reason = f"more ranks on this node than in all ({modes.size})"
        yield conflict(f"--data-parallel-size-local {modes.local}", reason)
    first = modes.start if modes.start is not None else modes.rank
    if first is not None and not 0 <= first <= modes.size - (modes.local or 1):
        token = "--data-parallel-start-rank" if modes.start is not None else "--data-parallel-rank"
        yield conflict(f"{token} {first}", f"ranks count from 0 to {modes.size - 1}")


def nodes(modes: Modes) -> Iterator[Refusal]:
    if modes.nnodes == 1:
        return
    if (modes.size * modes.world_in_rank) % modes.nnodes:
        reason = f"does not divide the world size {modes.size * modes.world_in_rank} (data x tensor x pipeline)"
        yield conflict(f"--nnodes {modes.nnodes}", reason)
    if modes.node_rank >= modes.nnodes:
        yield conflict(f"--node-rank {modes.node_rank}", f"nodes count from 0 to {modes.nnodes - 1}")
    if modes.backend != "mp":
        yield conflict(f"--nnodes {modes.nnodes}", "needs --data-parallel-backend mp", "--data-parallel-backend mp")


def addresses(modes: Modes) -> Iterator[Refusal]:
    several = modes.local is not None and modes.local < modes.size
    several = several or modes.rank is not None or modes.nnodes > 1 or modes.headless
    if several and modes.address is None and modes.backend == "mp":
        flag = "--master-addr" if modes.nnodes > 1 else "--data-parallel-address"
        reason = "the ranks are on several nodes and it defaults to 127.0.0.1: the others never join"
        yield conflict(flag, reason, f"{flag} ADDRESS_OF_THE_HEAD")


def parallelism(parsed: Parsed, modes: Modes) -> Iterator[Refusal]:
    tensor, context = parsed.get("tensor_parallel_size"), parsed.get("decode_context_parallel_size")
    both = isinstance(tensor, int) and isinstance(context, int)  # None: given, and not a number
    if both and parsed.get("prefill_context_parallel_size") == 1 and tensor % context:
        yield conflict(f"--decode-context-parallel-size {context}", f"does not divide the tensor size {tensor}")
    if parsed.get("enable_eplb") and not parsed.get("enable_expert_parallel"):
        yield conflict("--enable-eplb", "needs expert parallelism", "--enable-eplb --enable-expert-parallel")
    if not parsed.get("numa_bind") and {"numa_bind_nodes", "numa_bind_cpus"} & set(parsed.given):
        yield conflict("--numa-bind-nodes", "needs --numa-bind", "--numa-bind --numa-bind-nodes N N")
    if parsed.get("enable_fault_tolerance") and not (modes.external or modes.rank is not None):
        yield conflict("--enable-fault-tolerance", "works with external load balancing only")
    bound = parsed.values.get("numa_bind_nodes") or []
    needed = (modes.local or modes.size) * modes.world_in_rank
    if bound and modes.nnodes == 1 and len(bound) < needed:
        yield conflict("--numa-bind-nodes", f"names {len(bound)} GPUs of this node, the ranks use {needed}")


def pairs(parsed: Parsed, env: Mapping[str, str]) -> Iterator[Refusal]:
    if parsed.get("enable_auto_tool_choice") and not parsed.get("tool_call_parser"):
        reason = "needs --tool-call-parser"
        yield conflict("--enable-auto-tool-choice", reason, "--enable-auto-tool-choice --tool-call-parser NAME")
    if parsed.get("enable_log_outputs") and not parsed.get("enable_log_requests"):
        yield conflict("--enable-log-outputs", "needs --enable-log-requests", "--enable-log-requests")
    if parsed.get("grpc") and parsed.given.get("grpc_port"):
        yield conflict("--grpc --grpc-port", "exclude each other", "--grpc-port with VLLM_USE_RUST_FRONTEND=1")
    if parsed.get("enable_per_request_metrics") and parsed.get("disable_log_stats"):
        yield conflict("--enable-per-request-metrics --disable-log-stats", "metrics need the statistics")
    if env.get("VLLM_ALLOW_RUNTIME_LORA_UPDATING") == "1" and parsed.get("api_server_count") != 1:
        reason = "VLLM_ALLOW_RUNTIME_LORA_UPDATING works with one API server only"
        yield conflict("--api-server-count", reason, "--api-server-count 1")


def lora_modules(parsed: Parsed) -> Iterator[Refusal]:
    """Each is `name=path`, or a JSON object with these two keys."""
    for item in parsed.values.get("lora_modules") or []:
        try:
            value = json.loads(item) if "=" not in item or "," in item else {"name": "", "path": ""}
        except ValueError:
            value = None
        if not isinstance(value, dict) or not {"name", "path"} <= value.keys():
            token = f"{parsed.given['lora_modules']} {item}"
            yield Refusal(
                Kind.BAD_TYPE, token, "is neither name=path nor such a JSON object", "--lora-modules NAME=PATH"
            )


def unseen(parsed: Parsed) -> Iterator[Refusal]:
    """What the command line does not show: options in a file, a template that may not be there."""
    if "config" in parsed.given:
        reason = "options in a file are not seen by this check"
        yield Refusal(Kind.UNPROVEN, "--config", reason, "the options themselves on the command line")
    template = parsed.values.get("chat_template")
    built_in = load(parsed.version)["registries"]["chat_template"]
    if isinstance(template, str) and template not in built_in and not re.search(r"[{}\n]|^/", template):
        reason = "a relative path: vLLM refuses to start unless it exists in its working directory"
        yield Refusal(Kind.UNPROVEN, f"--chat-template {template}", reason, "an absolute path to a copy you ship")
