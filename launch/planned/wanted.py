"""What the operator wants of the planned settings beside options of vLLM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.planned.api_key import ApiKey

KEY_FILE = "api-key"
"""In the folder of a generation."""
KEY_VARIABLE = "VLLM_API_KEY"
"""Where vLLM reads the key that clients must send."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """`profile`: a name of `PROFILES`. `pins` False: nothing is bound. `lora_dynamic`: adapters may come later.

    `kv_memory`: the size of the KV cache is what an identical start measured, where one is known. `weights_daemon`:
    weights come from the daemon that holds them.
    """

    profile: str | None = None
    pins: bool = True
    lora_dynamic: bool = False
    api_key: ApiKey | None = None
    kv_memory: bool = False
    weights_daemon: bool = False


NOTHING = Wanted()
