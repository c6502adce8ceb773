"""LoRA adapters: `--lora coder=/data/coder,sql=/data/sql`, of which rank, and whether more may come while it serves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from inventory.errors import BadInput
from launch.choosing.settings import Setting
from launch.request import refused

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Those that vLLM 0.33.0 has kernels for."""
DYNAMIC = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def lora_settings(adapters: str, rank: str, loading: str) -> Iterator[Setting]:
    """The settings for `--lora`, `--max-lora-rank` and `--lora-loading`. Raises `BadInput`."""
    found = adapters_of(adapters)
    dynamic = is_dynamic(loading)
    if not found and not dynamic:
        if rank:
            adapters = "adapters: --lora NAME=PATH, or --lora-loading dynamic"
            raise refused("max-lora-rank", rank, adapters, instead="without --max-lora-rank")
        return
    typed = f"--lora {adapters}" if found else f"--lora-loading {loading}"
    yield Setting("enable-lora", typed=typed, why="adapters over the same weights, chosen by the request's `model`")
    if found:
        words = " ".join(f"{name}={path}" for name, path in found.items())
        yield Setting("lora-modules", words, typed=typed, why="the folders must be on every host that serves")
        why = "all of them may be in one batch; vLLM's default is one, and the others' requests would wait"
        yield Setting("max-loras", str(len(found)), typed=typed, why=why)
    if rank:
        why = "memory is set aside for this rank, and an adapter of a higher one is refused"
        yield Setting("max-lora-rank", str(_rank(rank)), typed=f"--max-lora-rank {rank}", why=why)
    if dynamic:
        why = "vLLM loads adapters while it serves with one API server only"
        yield Setting("api-server-count", "1", typed=f"--lora-loading {loading}", why=why)


def adapters_of(value: str) -> dict[str, str]:
    """Absolute paths by name. Raises `BadInput` for one that is neither, and for a name that is there twice."""
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in value.split(","))):
        name, equals, path = part.partition("=")
        safe = PurePosixPath(path).is_absolute() and path.isprintable() and not re.search(r"\s", path)
        if not equals or not _NAME.fullmatch(name) or not safe or ".." in PurePosixPath(path).parts:
            raise refused("lora", part, "NAME=PATH, a name without / and an absolute path on the hosts without spaces")
        if name in found:
            raise BadInput(
                f"two adapters are called {name}",
                id="override-contradicts",
                observed=f"--lora {name}={found[name]} and --lora {name}={path} (both typed)",
                required="a name of its own for each",
                next_command="the same command with another name for one of them",
            )
        found[name] = path
    return found


def is_dynamic(loading: str) -> bool:
    if loading not in {"", "static", "dynamic"}:
        raise refused("lora-loading", loading, "static (the usual), or dynamic: adapters may be loaded while it serves")
    return loading == "dynamic"


def _rank(value: str) -> int:
    if value not in map(str, RANKS):
        raise refused("max-lora-rank", value, f"one of {', '.join(map(str, RANKS))}")
    return int(value)
