"""One exact command per host: what the recipe resolves to, with every multi-node option made explicit.

vLLM 0.33.0 infers load-balancing modes from which options are present and waits for ever when they disagree between
hosts. So nothing of it is left to inference: the options in `OWNED` are taken out of the recipe's argv and written
from the placement, on every host. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import BadInput
from inventory.facts.cpulist import format_list
from launch.caches.roots import roots
from launch.placing.placement import Binding, LoadBalancing, Node, Pins, Placement

if TYPE_CHECKING:
    from launch.caches.stamp import Stamp
    from launch.planned.api_key import ApiKey
    from launch.recovery.guard import Supervision

MANY = -1
"""Values up to the next option."""
# Options that the placement decides, with the number of values each takes.
OWNED: Mapping[str, int] = {
    "--tensor-parallel-size": 1,
    "--pipeline-parallel-size": 1,
    "--data-parallel-size": 1,
    "--data-parallel-size-local": 1,
    "--data-parallel-start-rank": 1,
    "--data-parallel-address": 1,
    "--data-parallel-rpc-port": 1,
    "--data-parallel-hybrid-lb": 0,
    "--data-parallel-external-lb": 0,
    "--data-parallel-multi-port-external-lb": 0,
    "--data-parallel-supervisor-port": 1,
    "--data-parallel-rank": 1,
    "--headless": 0,
    "--nnodes": 1,
    "--node-rank": 1,
    "--master-addr": 1,
    "--master-port": 1,
    "--api-server-count": 1,
    "--host": 1,
    "--port": 1,
    "--distributed-executor-backend": 1,
    "--served-model-name": 1,
    "--numa-bind": 0,
    "--no-numa-bind": 0,
    "--numa-bind-nodes": MANY,
    "--numa-bind-cpus": MANY,
}
_PLACEHOLDER = re.compile(r"\$([A-Z][A-Z0-9_]*)")


@dataclass(frozen=True, slots=True)
class HostCommand:
    """What one host runs: `env` is the whole environment, `argv[0]` the absolute path of the program.

    `affinity` (CPUs) and `memory_nodes` are what a unit of systemd holds all of it to; empty: nothing. `api_key` is
    what clients must send: it is neither in `env` nor in `argv`. `stamp`: of the folder that its caches lie in.
    `guard`: what watches the group; None: nothing does.
    """

    host: str
    env: tuple[tuple[str, str], ...]
    argv: tuple[str, ...]
    affinity: tuple[int, ...] = ()
    memory_nodes: tuple[int, ...] = ()
    api_key: ApiKey | None = None
    stamp: Stamp | None = None
    guard: Supervision | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """Where this host has what the command needs: absolute paths, and the name that clients will use.

    `cache_dir`: below it each build has a folder of its own, named after its stamp. `draft_dir`: of the model that
    drafts tokens, None where the command names none. `packages`: of the lock; none: an image has the build.
    """

    vllm: str
    model_dir: str
    cache_dir: str
    served_name: str
    draft_dir: str | None = None
    packages: tuple[tuple[str, str], ...] = ()
    image: str = ""


def render(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    node: Node,
    placement: Placement,
    program: Program,
    api_key: ApiKey | None = None,
    stamp: Stamp | None = None,
) -> HostCommand:
    """Render the command of `node`. `stamp`: of its caches; None: they lie in `cache_dir` itself.

    `argv` is a resolved recipe's, `vllm serve MODEL options...`; `env` its environment. Placeholders `$HEAD_IP` and
    `$IFACE_NAME` become this host's values; any other raises `BadInput`.
    """
    known = {"HEAD_IP": placement.head.address, "IFACE_NAME": node.interface}
    options, owned = without_owned(argv[3:])
    api_servers = api_server_count(argv, node, placement)
    options += ["--distributed-executor-backend", _executor(owned, placement)]
    words = [*options, *parallel_words(node, placement), *_binding(node.pins)]
    words += _serving(node, placement, program, api_servers)
    caches = f"{program.cache_dir}/{stamp.digest}" if stamp else program.cache_dir
    # A root that the operator set for a host is theirs: caches may have to lie on another disk there.
    env = {**roots(caches), **env, **_env(node, placement, program)}
    return HostCommand(
        host=node.host,
        env=tuple(sorted((key, _substitute(value, known)) for key, value in env.items())),
        argv=(program.vllm, "serve", program.model_dir, *(_substitute(word, known) for word in words)),
        affinity=node.pins.affinity,
        memory_nodes=node.pins.memory_nodes,
        api_key=api_key if node.serves else None,
        stamp=stamp,
    )


def api_server_count(argv: Sequence[str], node: Node, placement: Placement) -> int:
    """API servers that `node` will run: the number of `argv`, else what its cores bear, else vLLM's default."""
    if not node.serves:
        return 0
    if placement.load_balancing is LoadBalancing.EXTERNAL:
        return len(node.ranks)  # vLLM has one for each rank, and no other number
    _, owned = without_owned(argv[3:])
    return int(owned.get("--api-server-count", "0")) or node.api_servers or default_api_servers(node, placement)


def _executor(owned: Mapping[str, str], placement: Placement) -> str:
    """The recipe's executor, else vLLM's own choice (config/parallel.py), written out: it has changed between releases.

    A rank over several hosts takes processes whatever the recipe says: on some platforms vLLM would look for Ray first.
    """
    workers = placement.tensor_parallel_size * placement.pipeline_parallel_size * placement.data_parallel_size
    chosen = owned.get("--distributed-executor-backend") or ("mp" if workers > 1 else "uni")
    return chosen if placement.hosts_per_rank == 1 else "mp"


def is_api_server_count_said(argv: Sequence[str]) -> bool:
    return without_owned(argv[3:])[1].get("--api-server-count", "0") != "0"


def default_api_servers(node: Node, placement: Placement) -> int:
    """What vLLM would choose for the mode."""
    if placement.load_balancing in {LoadBalancing.HYBRID, LoadBalancing.EXTERNAL}:
        return len(node.ranks)
    return placement.data_parallel_size


def without_owned(options: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The words that stay as they are, and the values of the options that the placement decides."""
    kept: list[str] = []
    owned: dict[str, str] = {}
    words, many = iter(options), False
    for word in words:
        name, equals, value = word.partition("=")
        if name in OWNED:
            many = not equals and OWNED[name] == MANY
            if OWNED[name] == 1:
                owned[name] = value if equals else next(words, "")
        elif not (many := many and not word.startswith("-")):
            kept.append(word)
    return kept, owned


def parallel_words(node: Node, placement: Placement) -> list[str]:
    """The options that say which ranks `node` has, and how they are joined and reached."""
    words = ["--tensor-parallel-size", str(placement.tensor_parallel_size)]
    if placement.pipeline_parallel_size > 1:
        words += ["--pipeline-parallel-size", str(placement.pipeline_parallel_size)]
    if placement.hosts_per_rank > 1:
        return words + _spanning(node, placement)
    if placement.load_balancing is LoadBalancing.NONE:
        return words
    words += ["--data-parallel-size", str(placement.data_parallel_size)]
    words += ["--data-parallel-size-local", str(len(node.ranks))]
    words += ["--data-parallel-address", placement.head.address]
    words += ["--data-parallel-rpc-port", str(placement.rpc_port)]
    if placement.load_balancing is LoadBalancing.EXTERNAL:
        return words + _external(node, placement)
    hybrid = placement.load_balancing is LoadBalancing.HYBRID
    if hybrid:
        words.append("--data-parallel-hybrid-lb")
    # A start rank on the head of an internal layout would make vLLM infer hybrid load balancing.
    if hybrid or node.start_rank > 0:
        words += ["--data-parallel-start-rank", str(node.start_rank)]
    if not node.serves:
        words.append("--headless")
    return words


def _external(node: Node, placement: Placement) -> list[str]:
    """A server for every rank. Several of one host are children of one process, which gives each its port and GPUs."""
    if placement.supervisor_port is None:
        return ["--data-parallel-external-lb", "--data-parallel-rank", str(node.start_rank)]
    words = ["--data-parallel-multi-port-external-lb", "--data-parallel-start-rank", str(node.start_rank)]
    return [*words, "--data-parallel-supervisor-port", str(placement.supervisor_port)]


def _spanning(node: Node, placement: Placement) -> list[str]:
    """One rank over all hosts."""
    words = ["--nnodes", str(placement.hosts_per_rank), "--node-rank", str(node.node_rank)]
    words += ["--master-addr", placement.head.address, "--master-port", str(placement.rpc_port)]
    return words if node.serves else [*words, "--headless"]


def _binding(pins: Pins) -> list[str]:
    """Ask vLLM to bind, with the node (and the CPUs) of every worker said, so that it detects nothing."""
    if pins.binding is not Binding.NUMA_BIND:
        return []
    words = ["--numa-bind", "--numa-bind-nodes", *map(str, pins.worker_nodes)]
    return [*words, "--numa-bind-cpus", *map(format_list, pins.workers)] if pins.workers else words


def _serving(node: Node, placement: Placement, program: Program, api_servers: int) -> list[str]:
    words = ["--served-model-name", program.served_name]
    if node.serves:
        words += ["--host", "0.0.0.0", "--port", str(placement.http_port)]  # noqa: S104  (it is a public endpoint)
        each = 1 if placement.load_balancing is LoadBalancing.EXTERNAL else api_servers
        words += ["--api-server-count", str(each)]
    return words


def _env(node: Node, placement: Placement, program: Program) -> dict[str, str]:
    bin_dir = program.vllm.rpartition("/")[0]
    env = {
        "PATH": f"{bin_dir}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        # vLLM renames its processes, which destroys the environment that /proc shows of them, and with it the mark by
        # which we find what belongs to a deployment. This leaves it alone.
        "SPT_NOENV": "1",
    }
    if node.pins.binding is Binding.THREADS:
        env["VLLM_CPU_OMP_THREADS_BIND"] = "|".join(",".join(map(str, one)) for one in node.pins.threads)
    if len(placement.nodes) > 1:
        env |= {
            "VLLM_HOST_IP": node.address,
            "GLOO_SOCKET_IFNAME": node.interface,
            "NCCL_SOCKET_IFNAME": node.interface,
        }
    return env


def _substitute(text: str, known: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in known:
            raise BadInput(
                f"the command leaves ${name} open",
                id="placeholder-open",
                observed=text,
                required="only " + " and ".join(f"${key}" for key in known),
                next_command="the value itself in --set or the recipe: on the hosts nothing is put in its place",
            )
        return known[name]

    return _PLACEHOLDER.sub(value, text)
