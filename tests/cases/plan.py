"""What a case's plan asks of its hosts. A part that the case does not tell stays untold."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from inventory.facts.containers import parse_platforms
from inventory.facts.names import parse_proxies
from inventory.yamlfile import parse
from playbooks.requirements import (
    Container,
    ExpectedWeights,
    HostRequirements,
    Layout,
    Model,
    Processes,
    Requirements,
    WeightFile,
)

FILES = (
    "plan*.yaml",
    "plan_env.txt",
    "manifest.tsv",
    "manifest.json",
    "control_env.txt",
    "inventory.yaml",
    "*.sh",
    "inputs.txt",
    "marker.txt",
    "ssh_config",
)
"""Files of a case that are the plan's or the control machine's; patterns."""

KNOWN = frozenset(
    {
        *("nnodes", "hosts", "env", "runtime", "fabric", "docker_args", "vllm_version", "vllm", "lb_mode", "moe"),
        *("commands", "model", "variant", "tp", "dp", "pp", "quant_block", "moe_intermediate_size", "platform"),
        *("vram_minimum_gb", "gpu_memory_utilization", "iface", "numa_bind", "image_compressed_bytes", "extra_args"),
        *("shutdown_timeout", "new_stop_timeout", "image", "root_fs", "ports", "weights", "cuda", "revision", "head"),
        *("start_offsets", "requirements", "restart", "min_vllm_version", "hardware_support"),
    }
)
Plan = Mapping[str, Any]
NOTHING = Processes(0, 0, 0, 0, 0)


def requirements(plan: Plan, files: Mapping[str, str], hosts: Sequence[str]) -> Requirements:
    """The requirements of a plan; `hosts` in the order of the node ranks. Raises `ValueError` for a key not known."""
    if unknown := set(plan) - KNOWN:
        raise ValueError(f"the plan has keys that nobody reads: {sorted(unknown)}")
    told = {one["name"]: one for one in plan.get("hosts", ())}
    data_parallel = plan.get("dp")
    return Requirements(
        hosts=tuple(_of_host(host, told.get(host, {}), plan, files) for host in hosts),
        head=plan.get("head", hosts[0]),
        head_address=None,
        vllm_version=str(plan.get("vllm_version") or plan.get("vllm") or ""),
        data_parallel_size=data_parallel or 0,
        ranks=(),
        argv_errors=(),
        hardware=plan.get("platform"),
        model=Model(
            id=plan.get("model", ""),
            variant=plan.get("variant", ""),
            vram_minimum_gb=plan.get("vram_minimum_gb"),
            moe_intermediate_size=plan.get("moe_intermediate_size"),
            quantization_block=plan.get("quant_block"),
            revision=plan.get("revision"),
            minimum_vllm=plan.get("min_vllm_version"),
            hardware_support=plan.get("hardware_support"),
        ),
        layout=Layout(
            tensor_parallel=plan.get("tp"),
            pipeline_parallel=plan.get("pp"),
            data_parallel=data_parallel,
            moe=plan.get("moe"),
            load_balancing=plan.get("lb_mode"),
            nodes=plan.get("nnodes") or (len(hosts) if "hosts" in plan or "commands" in plan else None),
        ),
        container=_container(plan, files),
        control_env=parse_proxies(files.get("control_env.txt", "")),
        rdma=plan["fabric"] in {"rdma", "ib", "infiniband", "roce", "rail"} if "fabric" in plan else None,
        rail=plan["fabric"] == "rail" if "fabric" in plan else None,
        mnnvl=plan["fabric"] in {"mnnvl", "nvlink", "imex"} if "fabric" in plan else None,
        shutdown_timeout_s=plan.get("shutdown_timeout"),
    )


def _of_host(host: str, told: Plan, plan: Plan, files: Mapping[str, str]) -> HostRequirements:
    ranks = told.get("dp_local") or 0
    workers = ranks * (told.get("tp") or 1) * (told.get("pp") or 1)
    return HostRequirements(
        host=host,
        gpus=tuple(range(told.get("gpus", 0))),
        gpu_profile=plan.get("platform"),
        memory_per_gpu_bytes=None,
        host_memory_bytes=None,
        processes=_processes(told, ranks, workers, plan) if ranks else NOTHING,
        address=_addresses(files).get(host),
        interface=plan.get("iface", {}).get(host),
        ports=tuple(plan.get("ports", ())),
        space=(),
        own_pids=(),
        gpu_runtime=_runtime(plan),
        argv=_argv(host, plan, files),
        env=_env(plan, files),
        weights=_weights(files),
        numa_bind=bool(plan.get("numa_bind")),
        numa_bind_required=plan.get("numa_bind") == "required",
        gpu_memory_utilization=plan.get("gpu_memory_utilization"),
        restart=plan.get("restart"),
        starts_after_s=plan.get("start_offsets", {}).get(host),
    )


def _runtime(plan: Plan) -> str | None:
    """`13.0` of `cu130` or 13.0."""
    digits = "".join(char for char in str(plan.get("cuda", "")) if char.isdigit())
    return f"{digits[:2]}.{digits[2:] or 0}" if len(digits) >= 2 else None


def _processes(told: Plan, ranks: int, workers: int, plan: Plan) -> Processes:
    """As vLLM starts them: a launcher for several API servers or none, a coordinator where the ranks are several."""
    api_servers = told.get("api_servers") or 0
    first = told is next(iter(plan.get("hosts", ())), told)
    several = max(plan.get("dp") or 1, sum(one.get("dp_local") or 0 for one in plan.get("hosts", ()))) > 1
    return Processes(api_servers, int(api_servers != 1), ranks, workers, int(several and first))


def _argv(host: str, plan: Plan, files: Mapping[str, str]) -> tuple[str, ...]:
    rendered = files.get(f"rendered/{host}.sh", "").removeprefix("exec ")
    if text := plan.get("commands", {}).get(host, rendered):
        return tuple(shlex.split(text))
    if "extra_args" in plan:
        return ("vllm", "serve", plan.get("model", ""), *map(str, plan["extra_args"]))
    return ()


def _env(plan: Plan, files: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    lines = (line.partition("=") for line in files.get("plan_env.txt", "").splitlines() if "=" in line)
    told = {name.strip(): value for name, _, value in lines} | {k: str(v) for k, v in (plan.get("env") or {}).items()}
    return tuple(sorted(told.items()))


def _weights(files: Mapping[str, str]) -> ExpectedWeights | None:
    if "manifest.tsv" not in files:
        return None
    rows = (line.split("\t") for line in files["manifest.tsv"].splitlines() if line.strip())
    return ExpectedWeights("", None, None, tuple(WeightFile(row[0], int(row[1])) for row in rows))


def _container(plan: Plan, files: Mapping[str, str]) -> Container | None:
    told = ("image", "docker_args", "image_compressed_bytes", "root_fs", "new_stop_timeout")
    if plan.get("runtime") != "docker" and not any(key in plan for key in told) and "manifest.json" not in files:
        return None
    image, _, digest = str(plan.get("image", "")).partition("@")
    return Container(
        image=image or None,
        digest=digest or None,
        layers=tuple(plan.get("root_fs", ())),
        platforms=parse_platforms(files["manifest.json"]) if "manifest.json" in files else None,
        compressed_bytes=plan.get("image_compressed_bytes"),
        arguments=tuple(plan["docker_args"]) if "docker_args" in plan else None,
        stop_timeout_s=plan.get("new_stop_timeout"),
    )


def _addresses(files: Mapping[str, str]) -> Mapping[str, str]:
    """The case's own form of an inventory: a name and an address."""
    found = parse(files.get("inventory.yaml", "{}").encode(), "inventory.yaml").data
    assert isinstance(found, dict)
    return {name: str(address) for name, address in found.items()}
