"""Small recipes for the rules of resolution, and cases of them."""

from __future__ import annotations

from typing import Any

from launch.catalogue.find import Library
from launch.catalogue.recipe import Recipe
from launch.catalogue.taxonomy import KvStore, Profile, Strategy, Taxonomy
from launch.resolve import Case

PROFILES = {
    "h100": {"brand": "NVIDIA", "generation": "hopper", "gpu_count": 8, "vram_gb": 640},
    "gb200": {"brand": "NVIDIA", "generation": "blackwell", "gpu_count": 4, "vram_gb": 768},
    "mi300x": {"brand": "AMD", "generation": "amd", "gpu_count": 8, "vram_gb": 1536},
    "xeon": {"brand": "Intel", "generation": "cpu", "gpu_count": 2, "vram_gb": 512, "restricted": True},
    "arc": {"brand": "Intel", "generation": "xpu", "gpu_count": 4, "vram_gb": 96, "restricted": True},
    "npu": {"brand": "Huawei", "generation": "npu", "gpu_count": 2, "restricted": True},
    "box": {"brand": "NVIDIA", "generation": "blackwell", "gpu_count": 1, "vram_gb": 96, "scalable": False},
}
OFFLOAD = {
    "simple": {"args": ["--kv-transfer-config", '{"kv_connector":"SimpleCPUOffloadConnector"}']},
    "checked": {"args": ["--checked"], "requires_opt_in": True, "brands": ["NVIDIA"], "env": {"K": 1}},
    "pool": {
        "args": ["--pool"],
        "strategies": ["single_node_tp"],
        "install": "uv pip install pool",
        "companion": {"label": "Pool", "description": "beside it", "command": "pool serve\n"},
    },
}
SPANS = {"GLOO_SOCKET_IFNAME": "$IFACE_NAME", "NCCL_SOCKET_IFNAME": "$IFACE_NAME"}
STRATEGIES: dict[str, dict[str, Any]] = {
    "single_node_tp": {"deploy_type": "single_node", "parallel_flag": "--tensor-parallel-size"},
    "single_node_tep": {"deploy_type": "single_node", "vllm_args": ["--enable-expert-parallel"]},
    "single_node_dep": {
        "deploy_type": "single_node",
        "vllm_args": ["--enable-expert-parallel"],
        "parallel_flag": "--data-parallel-size",
    },
    "multi_node_tp": {"deploy_type": "multi_node", "env": SPANS},
    "multi_node_tp_pp": {"deploy_type": "multi_node", "parallelism": "tp_pp"},
    "multi_node_tp_dp": {"deploy_type": "multi_node", "parallelism": "tp_dp"},
    "multi_node_dep": {
        "deploy_type": "multi_node",
        "vllm_args": ["--enable-expert-parallel", "--data-parallel-hybrid-lb"],
        "parallel_flag": "--data-parallel-size",
        "env": SPANS,
    },
    "multi_node_dp": {
        "deploy_type": "multi_node",
        "parallel_flag": "--data-parallel-size",
        "bringup": {"load_balancing": "internal"},
    },
    "pd_cluster": {
        "deploy_type": "pd_cluster",
        "prefill": {"vllm_args": ["--port", 8001], "env": {"HOST": "$PREFILL_NODE_1", "UCX_NET_DEVICES": "all"}},
        "decode": {"vllm_args": ["--port", 8002], "env": {"HOST": "$DECODE_NODE_1"}},
        "router": {"policy": "round_robin"},
    },
}
STORE = {
    "vllm": {
        "vllm_args": ["--kv-transfer-config", "store"],
        "env": {"PYTHONHASHSEED": 0},
        "install": {"nvidia": "nv", "amd": "rocm"},
        "port": 8000,
    },
    "pd": {"prefill": {"args": ["--kv-transfer-config", "both"]}},
    "router": {"policy": "cache_aware", "port": 30080},
    "mooncake_master": {"command": "master\n"},
    "mooncake_vllm_config": {"template": {"mode": "embedded"}},
    "default_instances": 2,
}


def library() -> Library:
    taxonomy = Taxonomy.model_validate({"hardware_profiles": PROFILES, "kv_offload": OFFLOAD})
    return Library(
        profiles={name: Profile.model_validate(one) for name, one in PROFILES.items()},
        strategies={name: Strategy.model_validate({"name": name, **one}) for name, one in STRATEGIES.items()},
        kv_stores={"mooncake": KvStore.model_validate(STORE)},
        taxonomy=taxonomy,
    )


def recipe(**parts: Any) -> Recipe:  # noqa: ANN401  (a recipe's YAML)
    """A recipe of these parts; every strategy is listed unless it says otherwise."""
    base: dict[str, Any] = {"model": {"model_id": "org/m"}, "compatible_strategies": list(STRATEGIES)}
    return Recipe.model_validate(base | parts)


def case(strategy: str = "single_node_tp", hardware: str = "h100", **parts: Any) -> Case:  # noqa: ANN401
    """A case of a recipe; `recipe` is a dict of its parts, the rest are fields of `Case`."""
    made = recipe(**parts.pop("recipe", {}))
    variant = parts.pop("variant", "default")
    return Case(made, library(), variant, strategy, hardware, **parts)
