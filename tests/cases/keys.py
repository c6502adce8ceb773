"""A plan of a case under the one set of keys that `plan.py` reads, however its author called and nested them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Plan = Mapping[str, Any]

ALIASES = {
    "vllm": "vllm_version",
    "version": "vllm_version",
    "hardware": "platform",
    "gpu_type": "platform",
    "gpu_profile": "platform",
    "accelerator": "platform",
    "tensor_parallel": "tp",
    "tensor_parallel_size": "tp",
    "pipeline_parallel": "pp",
    "pipeline_parallel_size": "pp",
    "data_parallel": "dp",
    "data_parallel_size": "dp",
    "expert_parallel": "ep",
    "expert_parallel_size": "ep",
    "enable_expert_parallel": "ep",
    "args": "extra_args",
    "flags": "extra_args",
    "vllm_args": "extra_args",
    "argv": "extra_args",
    "serve_args": "extra_args",
    "command": "commands",
    "cmd": "commands",
    "rendered": "commands",
    "load_balance_mode": "lb_mode",
    "load_balancing": "lb_mode",
    "lb": "lb_mode",
    "envs": "env",
    "environment": "env",
    "host_env": "env",
    "env_per_host": "env",
    "rendered_env": "env",
    "nodes": "nnodes",
    "num_nodes": "nnodes",
    "interface": "iface",
    "interfaces": "iface",
    "ifaces": "iface",
    "ifname": "iface",
    "head_addr": "head_address",
    "head_ip": "head_address",
    "data_parallel_address": "head_address",
    "dp_address": "head_address",
    "master_addr": "head_address",
    "master_address": "head_address",
    "restart_policy": "restart",
    "schedule": "start_offsets",
    "launch_schedule": "start_offsets",
    "start_at": "start_offsets",
    "start_times": "start_offsets",
    "model_path": "weights_path",
    "weights_dir": "weights_path",
    "download_dir": "weights_path",
    "hf_home": "weights_path",
    "model_bytes": "weights_bytes",
    "repo_bytes": "weights_bytes",
    "weight_bytes": "weights_bytes",
    "size_gb": "weights_gb",
    "model_gb": "weights_gb",
    "util": "gpu_memory_utilization",
    "utilization": "gpu_memory_utilization",
    "gpu_util": "gpu_memory_utilization",
    "vram_min_gb": "vram_minimum_gb",
    "min_vram_gb": "vram_minimum_gb",
    "min_vllm": "min_vllm_version",
    "minimum_vllm": "min_vllm_version",
    "hardware_map": "hardware_support",
    "supported_hardware": "hardware_support",
    "block_size_quant": "quant_block",
    "quantization_block": "quant_block",
    "weight_block_size": "quant_block",
    "container_args": "docker_args",
    "docker_flags": "docker_args",
    "docker_run": "docker_args",
    "stop_timeout": "new_stop_timeout",
    "docker_stop_timeout": "new_stop_timeout",
    "timeout_stop_sec": "unit_stop_timeout",
    "TimeoutStopSec": "unit_stop_timeout",
    "image_size": "image_compressed_bytes",
    "image_bytes": "image_compressed_bytes",
    "all2all": "all2all_backend",
    "arch_list": "architectures",
    "build_arch_list": "architectures",
    "wheel_arch_list": "architectures",
    "cuda_runtime": "cuda",
    "cuda_version": "cuda",
    "wheel_cuda": "cuda",
    "requires_python": "python",
    "root_needed": "needs_root",
    "layers": "root_fs",
    "commit": "revision",
    "tokenizer": "tokenizer_mode",
    "deployment": "name",
    "executor": "distributed_executor_backend",
}
PORTS = (
    *("port", "api_port", "dp_rpc_port", "data_parallel_rpc_port", "master_port", "nixl_port", "side_channel_port"),
    *("metrics_port", "rpc_port"),
)
NESTED = ("model", "layout", "parallel", "parallelism", "container", "docker", "build", "recipe", "plan", "vllm")
"""Blocks whose own keys count as the plan's, where the block is a mapping."""
OPTIONS = {
    "--tensor-parallel-size": "tp",
    "-tp": "tp",
    "--pipeline-parallel-size": "pp",
    "-pp": "pp",
    "--data-parallel-size": "dp",
    "-dp": "dp",
    "--gpu-memory-utilization": "gpu_memory_utilization",
    "--shutdown-timeout": "shutdown_timeout",
    "--nnodes": "nnodes",
    "--data-parallel-address": "head_address",
    "--master-addr": "head_address",
    "--revision": "revision",
}
"""Options of the command that say what a key says too."""
SETTINGS = {
    "all2all_backend": "--all2all-backend",
    "distributed_executor_backend": "--distributed-executor-backend",
    "safetensors_load_strategy": "--safetensors-load-strategy",
    "load_strategy": "--safetensors-load-strategy",
    "max_model_len": "--max-model-len",
    "tool_call_parser": "--tool-call-parser",
    "reasoning_parser": "--reasoning-parser",
}
"""Keys that stand for an option of the command."""


def canonical(plan: Plan) -> dict[str, Any]:
    """The plan with its keys as `plan.py` knows them. Keys that nobody knows are kept: the caller reports them."""
    found = flattened(plan)
    found["hosts"] = list(listed(found["hosts"])) if isinstance(found.get("hosts"), Mapping | list) else []
    if isinstance(plan.get("hosts"), int):
        found.setdefault("nnodes", plan["hosts"])
    if not found["hosts"]:
        del found["hosts"]
    ports = found.pop("ports", ())
    ports = list(ports.values()) if isinstance(ports, Mapping) else [ports] if isinstance(ports, int) else list(ports)
    ports += [found.pop(key) for key in PORTS if isinstance(found.get(key), int)]
    if ports:
        found["ports"] = [int(port) for port in ports]
    if isinstance(found.get("platform"), str):
        found["platform"] = found["platform"].lower()
    spread(found)
    return found


def flattened(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in plan.items():
        if key == "hardware" and isinstance(value, Mapping):
            found["hardware_support"] = value
        elif key in NESTED and isinstance(value, Mapping):
            inner = flattened(value)
            named = inner.pop("name", None) or inner.pop("id", None)
            found |= {name: one for name, one in inner.items() if name not in found}
            if key == "model" and named:
                found["model"] = named
        else:
            found.setdefault(ALIASES.get(key, key), value)
    return found


def listed(hosts: Mapping[str, Any] | Sequence[Any]) -> Iterable[dict[str, Any]]:
    """`[{name: a, ...}]` of names alone, of a mapping by name, or of that form itself."""
    if isinstance(hosts, Mapping):
        for name, told in hosts.items():
            yield {"name": str(name), **(told if isinstance(told, Mapping) else {})}
        return
    for one in hosts:
        told = dict(one) if isinstance(one, Mapping) else {"name": str(one)}
        told["name"] = str(told.get("name") or told.get("host") or told.get("hostname") or "")
        told = {ALIASES.get(key, key): value for key, value in told.items()}
        for key, scale in (("gpu_mem_gib", 1024), ("gpu_mem_gb", 1e9 / 2**20)):
            if key in told:
                told["gpu_mem_mib"] = round(told.pop(key) * scale)
        if isinstance(told.get("gpus"), list):
            told["gpus"] = len(told["gpus"])
        yield told


def spread(found: dict[str, Any]) -> None:
    """Into the command what is an option of it, and out of the command what is a key too."""
    words = [word for key, option in SETTINGS.items() if key in found for word in (option, str(found.pop(key)))]
    if words:
        found["extra_args"] = [*split(found.get("extra_args") or ()), *words]
    for option, value in pairs(all_words(found)):
        key = OPTIONS.get(option)
        if key and value:
            found.setdefault(key, number(value))
    told = all_words(found)
    if "--enable-expert-parallel" in told:
        found.setdefault("ep", True)
    if "--numa-bind" in told:
        found.setdefault("numa_bind", True)


def all_words(found: Plan) -> list[str]:
    commands = found.get("commands")
    texts = commands.values() if isinstance(commands, Mapping) else (commands,) if commands else ()
    return [*split(found.get("extra_args") or ()), *(word for text in texts for word in split(text))]


def split(text: object) -> list[str]:
    if isinstance(text, str):
        try:
            return shlex.split(text)
        except ValueError:
            return text.split()
    return [str(word) for word in text] if isinstance(text, list | tuple) else []


def pairs(words: Sequence[str]) -> Iterable[tuple[str, str]]:
    for at, word in enumerate(words):
        if word.startswith("-") and "=" in word:
            name, _, value = word.partition("=")
            yield name, value
        elif word.startswith("-") and at + 1 < len(words) and not words[at + 1].startswith("--"):
            yield word, words[at + 1]


def number(text: str) -> Any:  # noqa: ANN401
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def of_host(value: Any, host: str, hosts: Sequence[str]) -> Any:  # noqa: ANN401
    """The part of a value that is one host's: of a mapping by host, else the whole."""
    if isinstance(value, Mapping) and value and {str(key) for key in value} <= {*hosts}:
        return value.get(host)
    return value
