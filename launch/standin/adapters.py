"""LoRA adapters of the API server: listed, loaded and unloaded as vLLM does it; nothing is read of them but a file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from launch.standin.host import Host

DYNAMIC = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"
CONFIG = "adapter_config.json"


class CannotLoad(Exception):
    """An adapter that vLLM would not take: HTTP status, kind and message of its answer."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


@dataclass
class Adapters:
    """`paths` by name: those of the command line at first."""

    host: Host
    paths: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for given in self.host.options.texts("lora_modules"):
            self.paths |= _named(given)

    @property
    def may_change(self) -> bool:
        return self.host.env.get(DYNAMIC, "0").lower() in {"1", "true"}

    def load(self, name: str, path: str, *, in_place: bool) -> str:
        if not name or not path:
            raise CannotLoad(400, "InvalidUserInput", "Both 'lora_name' and 'lora_path' must be provided.")
        if name in self.paths and not in_place:
            told = f"The lora adapter '{name}' has already been loaded. If you want to load the adapter in place, "
            raise CannotLoad(400, "InvalidUserInput", f"{told}set 'load_inplace' to True.")
        if not (Path(path) / CONFIG).is_file():
            raise CannotLoad(404, "NotFoundError", f"Loading lora {name} failed: No adapter found for {path}")
        self.paths[name] = path
        return f"Success: LoRA adapter '{name}' added successfully."

    def unload(self, name: str) -> str:
        if name not in self.paths:
            raise CannotLoad(404, "NotFoundError", f"The lora adapter '{name}' cannot be found.")
        del self.paths[name]
        return f"Success: LoRA adapter '{name}' removed successfully."


def _named(given: str) -> dict[str, str]:
    """`name=path`, or the JSON form of it."""
    if given.startswith("{"):
        told = json.loads(given)
        return {str(told["name"]): str(told["path"])}
    name, _, path = given.partition("=")
    return {name: path}
