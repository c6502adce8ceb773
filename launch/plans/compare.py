"""What differs between two plans, and what that means. Pure; reads the documents that `plan --json` writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from inventory.errors import BadInput
from inventory.quoting import quote
from launch.plans.document import FORMAT_VERSION, KIND, LaunchPlan
from launch.resolve.words import groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from launch.plans.document import Host


@dataclass(frozen=True, slots=True)
class Change:
    """`before` and `after` are texts, empty: not there. `means`: what it comes to for whoever runs it."""

    what: str
    before: str
    after: str
    means: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before or 'none'} -> {self.after or 'none'}" + (
            f": {self.means}" if self.means else ""
        )


MEANS = {
    "--max-model-len": "the longest request",
    "--max-num-seqs": "requests at once on a rank",
    "--max-num-batched-tokens": "tokens of a step: memory for activations, and how long others wait",
    "--gpu-memory-utilization": "the share of each GPU that vLLM takes, and with it the cache",
    "--kv-cache-dtype": "another size of a token in the cache, and other answers",
    "--kv-cache-memory-bytes": "another size of the cache",
    "--block-size": "another layout of the cache",
    "--enable-prefix-caching": "whether requests share what they begin with",
    "--quantization": "other weights in memory, and other answers",
    "--speculative-config": "drafted tokens: latency of few requests against room for many",
    "--max-cudagraph-capture-size": "larger steps run by a graph, which take memory",
    "--enforce-eager": "no CUDA graphs: slower steps, a faster start",
    "--tokenizer-mode": "prompts are made otherwise",
    "--tool-call-parser": "how calls of tools are found in the text",
    "--reasoning-parser": "how thinking is told from the answer",
    "--enable-auto-tool-choice": "whether the model may call tools by itself",
    "--enable-lora": "whether adapters can be used",
    "--lora-modules": "other adapters",
    "--trust-remote-code": "whether Python of the model's repository runs",
    "--api-server-count": "how many processes take requests",
    "--scheduling-policy": "which request comes first when the cache is full",
    "--numa-bind": "whether vLLM binds its processes",
    "--numa-bind-nodes": "memory on other NUMA nodes",
    "--numa-bind-cpus": "processes run on other cores",
    "--attention-config": "another attention kernel: compiled anew",
    "--moe-backend": "another kernel of the experts: compiled anew",
    "--compilation-config": "another graph: compiled anew",
}
"""What it comes to when an option changes. Others are told without."""


def read(path: Path) -> LaunchPlan:
    """Read a plan document. Raises `BadInput` when it is none of this format version."""
    from pydantic import TypeAdapter, ValidationError

    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if (document["kind"], document["format_version"]) != (KIND, FORMAT_VERSION):
            raise ValueError(f"{document['kind']} of format version {document['format_version']}")  # noqa: TRY301
        return TypeAdapter(LaunchPlan).validate_python(document["data"])
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
        raise BadInput(
            f"{path} is not a plan",
            id="plan-file",
            observed=str(error).splitlines()[0],
            required=f"a document of `invoke plan --json`, {KIND} of format version {FORMAT_VERSION}",
            next_command="invoke plan --model MODEL --hosts HOSTS --json > plan.json"
            if path.exists()  # what it is, is not to be written over
            else f"invoke plan --model MODEL --hosts HOSTS --json > {quote(str(path))}",
        ) from None


def differences(before: LaunchPlan, after: LaunchPlan) -> tuple[Change, ...]:
    """The gravest first; empty: both do the same on the same hosts."""
    return (
        *_model(before, after),
        *_sizes(before, after),
        *_memory(before, after),
        *_hosts(before, after),
        *_obstacles(before, after),
        *_inputs(before, after),
    )


def _changed(what: str, before: object, after: object, means: str = "") -> Iterator[Change]:
    if before != after:
        yield Change(what, "" if before is None else str(before), "" if after is None else str(after), means)


def _model(before: LaunchPlan, after: LaunchPlan) -> Iterator[Change]:
    ours, theirs = before.model, after.model
    yield from _changed("model", ours.repository, theirs.repository, "other weights: every host downloads them")
    if ours.repository == theirs.repository:
        yield from _changed("commit", ours.commit, theirs.commit, "other files of the same model: downloaded anew")
    yield from _changed("variant", ours.variant, theirs.variant, "another checkpoint")
    yield from _changed("precision", ours.precision, theirs.precision, "other answers, and another size in memory")
    yield from _changed("served name", ours.served_name, theirs.served_name, "clients must ask for the other name")
    for name in sorted({*ours.features} ^ {*theirs.features}):
        here = name in ours.features
        yield Change(f"feature {name}", "on" if here else "off", "off" if here else "on", "a feature of the recipe")
    engine = "caches of kernels and compiled code are of no use"
    yield from _changed("vLLM", before.engine.vllm, after.engine.vllm, engine)
    environments = (before.engine.environment, after.engine.environment)
    yield from _changed("environment", *environments, "packages are installed anew")
    yield from _changed("image", before.engine.image, after.engine.image, "the image is pulled anew")


def _sizes(before: LaunchPlan, after: LaunchPlan) -> Iterator[Change]:
    ours, theirs = before.layout, after.layout
    names = {
        "strategy": "another layout of ranks",
        "hardware": "other GPUs",
        "nodes": "more hosts to fail together" if theirs.nodes > ours.nodes else "fewer hosts, and less memory",
        "tensor_parallel": "each rank spans another number of GPUs",
        "pipeline_parallel": "another number of pipeline stages",
        "data_parallel": "another number of engines, each with its own cache",
        "expert_parallel": "experts lie over another number of GPUs",
        "hosts_per_rank": "ranks span another number of hosts: the network is in every step",
        "load_balancing": "clients find other endpoints",
        "http_port": "clients must use the other port",
        "rpc_port": "another port must be open between the hosts",
    }
    for name, means in names.items():
        yield from _changed(name.replace("_", " "), getattr(ours, name), getattr(theirs, name), means)


def _memory(before: LaunchPlan, after: LaunchPlan) -> Iterator[Change]:
    ours, theirs = before.memory, after.memory
    words = {True: "yes", False: "no", None: "unknown"}
    yield from _changed("fits", words[ours.fits], words[theirs.fits], "" if theirs.fits else "it would not start")
    yield from _changed(
        "KV tokens of all ranks",
        _number(ours.kv_tokens_gang),
        _number(theirs.kv_tokens_gang),
        _more_or_less(ours.kv_tokens_gang, theirs.kv_tokens_gang),
    )
    yield from _changed("tokens of one request", _number(ours.context), _number(theirs.context), "longest request")


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _more_or_less(before: int | None, after: int | None) -> str:
    if not before or after is None:
        return ""
    share = (after - before) / before
    word, length = ("more", "longer") if share > 0 else ("fewer", "shorter")
    return f"{abs(after - before):,} {word} ({share:+.0%}): {word} requests at once, or {length} ones"


def _hosts(before: LaunchPlan, after: LaunchPlan) -> Iterator[Change]:
    ours, theirs = ({host.name: host for host in plan.hosts} for plan in (before, after))
    for name in sorted(ours.keys() - theirs.keys()):
        yield Change(f"host {name}", "in the gang", "", "its ranks must be stopped: nothing does that by itself")
    for name in sorted(theirs.keys() - ours.keys()):
        yield Change(f"host {name}", "", "in the gang", "it needs the environment and the weights")
    yield from _changed("head", before.head.name, after.head.name, "the others join another host")
    both = [host.name for host in before.hosts if host.name in theirs]
    yield from _united({name: list(_host(ours[name], theirs[name])) for name in both})


def _united(by_host: Mapping[str, Sequence[Change]]) -> Iterator[Change]:
    """The changes of hosts; one that all of several have is one."""
    found: dict[Change, list[str]] = {}
    for name, changes in by_host.items():
        for one in changes:
            found.setdefault(one, []).append(name)
    for one, names in found.items():
        every = len(names) == len(by_host) > 1
        for name in ["every host"] if every else names:
            yield replace(one, what=f"{name} {one.what}")


def _host(before: Host, after: Host) -> Iterator[Change]:
    yield from _changed("ranks", _ranks(before), _ranks(after), "caches are named by rank: they miss")
    yield from _changed("address", before.address, after.address, "the others must reach it there")
    yield from _changed("interface", before.interface, after.interface, "traffic takes another way")
    yield from _changed("role", before.role, after.role, "it serves or joins otherwise")
    yield from _changed("endpoints", " ".join(before.urls), " ".join(after.urls), "clients find other endpoints")
    yield from _changed("processes", _processes(before), _processes(after), "it needs other cores")
    yield from _changed("unused GPUs", _unused(before), _unused(after), "what no rank may or need have")
    yield from _changed("NVLink domain", before.clique, after.clique, "traffic between hosts takes another way")
    yield from _changed("pins", _pins(before), _pins(after), "processes run on other cores")
    yield from _mapping("env", dict(before.env), dict(after.env))
    yield from _mapping("option", _options(before), _options(after))


def _ranks(host: Host) -> str:
    return "; ".join(f"{rank.index} on GPU {','.join(map(str, rank.gpus)) or 'none'}" for rank in host.ranks)


def _processes(host: Host) -> str:
    count = host.processes
    return f"{count.api_servers} API servers, {count.engine_cores} engine cores, {count.workers} workers"


def _unused(host: Host) -> str:
    return "; ".join(f"GPU {gpu.index}: {gpu.unused}" for gpu in host.gpus if gpu.rank is None)


def _pins(host: Host) -> str:
    return f"{host.pins.binding}: {host.pins.workers or host.pins.worker_nodes or host.pins.affinity}"


def _mapping(what: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for key in sorted({*before, *after}):
        yield from _changed(f"{what} {key}", before.get(key), after.get(key), MEANS.get(key, ""))


def _options(host: Host) -> dict[str, str]:
    """The options of a command by flag; values that follow one another belong to the flag before them."""
    found: dict[str, str] = {}
    flag = ""
    for group in groups(host.argv[3:]):
        flag = group[0] if group[0].startswith("-") else flag
        value = " ".join(group[1:] if group[0].startswith("-") else group)
        found[flag] = f"{found[flag]} {value}" if flag in found else value or "given"
    return found


def _obstacles(before: LaunchPlan, after: LaunchPlan) -> Iterator[Change]:
    ours, theirs = ({(one.id, one.host): one.message for one in plan.obstacles} for plan in (before, after))
    for key in sorted({*ours, *theirs}):
        means = "" if key in theirs and key in ours else "deploy refuses it" if key in theirs else "deploy takes it"
        yield from _changed(f"obstacle {key[0]}", ours.get(key), theirs.get(key), means)
    left = (dict(plan.left_out) for plan in (before, after))
    yield from _mapping("left out", *left)


def _inputs(before: LaunchPlan, after: LaunchPlan) -> Iterator[Change]:
    alike = (before.model.recipe, before.layout.hardware) == (after.model.recipe, after.layout.hardware)
    means = "the recipe's files were changed" if alike else "another recipe, or the profile of other hardware"
    yield from _changed("recipe", before.inputs.recipe, after.inputs.recipe, means)
    yield from _changed("assumed", before.inputs.assumed, after.inputs.assumed, "hosts were asked, or none was")
    yield from _changed(
        "simulated", before.inputs.simulated, after.inputs.simulated, "hardware that is made up, or not"
    )
    facts = dict(before.inputs.facts), dict(after.inputs.facts)
    for name in sorted(facts[0].keys() & facts[1].keys()):
        yield from _changed(f"facts of {name}", facts[0][name], facts[1][name], f"invoke probe --hosts {name} --diff")


def summary(changes: Sequence[Change]) -> str:
    return f"{len(changes)} difference(s)" if changes else "no difference: both plans run the same on the same hosts"
