"""The model folder: what vLLM reads of it before it starts, and what must be in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launch.standin.argv import Options
from launch.standin.log import Fault

MANIFEST = ".bringup-manifest.json"
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_routed_experts")
MAX_LENGTH = 8192  # of a model whose folder does not say
CONCURRENCY = 16.0  # simulated: how many requests of the full length the KV cache holds
BLOCK = 16  # tokens
KV_TOKENS = "BRINGUP_STANDIN_KV_TOKENS"


@dataclass(frozen=True, slots=True)
class Model:
    """`names`: served names, the first is the model's own. `kv_tokens` is invented: nothing is measured."""

    path: str
    names: tuple[str, ...]
    architecture: str
    moe: bool
    max_length: int
    kv_tokens: int
    shards: tuple[str, ...]

    @property
    def concurrency(self) -> float:
        return self.kv_tokens / self.max_length


def read_model(options: Options, env: Mapping[str, str]) -> Model:
    """Raises `Fault` in vLLM's words when the folder is not a model."""
    folder = Path(options.model)
    manifest, config = read_json(folder / MANIFEST), read_json(folder / "config.json")
    if manifest is None and config is None:
        raise Fault(invalid_model(options.model), "config.py:912")
    config = config or {}
    text_config = config.get("text_config") or {}
    known = {**text_config, **config}
    longest = options.number("max_model_len", -1)
    if longest < 0:
        longest = int(known.get("max_position_embeddings") or MAX_LENGTH)
    architectures = config.get("architectures") or ["SimulatedForCausalLM"]
    return Model(
        path=options.model,
        names=tuple(options.texts("served_model_name")) or (options.model,),
        architecture=str(architectures[0]),
        moe=any(int(known.get(key) or 0) > 1 for key in EXPERTS) or options.on("enable_expert_parallel"),
        max_length=longest,
        kv_tokens=int(env.get(KV_TOKENS) or longest * CONCURRENCY),
        shards=tuple(sorted(path.name for path in folder.glob("*.safetensors"))),
    )


def check_weights(model: Model) -> None:
    """What a worker finds while it loads: the files of the manifest, in the sizes that it names."""
    manifest = read_json(Path(model.path) / MANIFEST)
    if not model.shards and not (manifest or {}).get("simulated"):
        raise Fault(f"RuntimeError: Cannot find any model weights with `{model.path}`", "default_loader.py:210")
    for entry in (manifest or {}).get("files", ()):
        path = Path(model.path) / str(entry["path"])
        if path.suffix == ".safetensors" and (not path.is_file() or path.stat().st_size != entry["size"]):
            raise Fault(
                "safetensors_rust.SafetensorError: Error while deserializing header: "
                f"incomplete metadata, file not fully covered ({path})"
            )


def read_json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def invalid_model(name: str) -> str:
    return (
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        f"  Value error, Invalid repository ID or local directory specified: '{name}'.\n"
        "Please verify the following requirements:\n"
        "1. Provide a valid Hugging Face repository ID.\n"
        "2. Specify a local directory that contains a recognized configuration file."
    )
