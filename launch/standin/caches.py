"""What a worker finds of what an earlier start compiled and tuned: folders, names and lines of vLLM, made-up content.

Nothing is compiled. A file that a start left makes the next one short, as a real artefact does, and one that was
spoiled is met as vLLM meets it: `spoiled` content is compiled again, `poisoned` content ends the worker below the level
at which vLLM looks. Without VLLM_CACHE_ROOT nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from launch.standin.host import Host
from launch.standin.log import Fault, Log

CONTENT = "SIMULATED artefact of the stand-in engine\n"
NOWHERE = "/dev/null/simulated"  # takes no file, and has none
POISONED = "poisoned"
CORRUPT = "RuntimeError: Bytes object is corrupted, checksum does not match. (SIMULATED)"
WARM_SHARE = 0.1  # of the time that compiling takes
# What vLLM keys by, of what a stand-in looks at.
KEYED = ("max_model_len", "max_num_seqs", "max_num_batched_tokens", "kv_cache_dtype", "data_parallel_size")


@dataclass(frozen=True, slots=True)
class WorkerCaches:
    """`rank`: within its group; `dp`: the global data-parallel index."""

    host: Host
    log: Log
    rank: int
    dp: int

    @property
    def root(self) -> Path:
        return Path(self.host.env.get("VLLM_CACHE_ROOT") or NOWHERE)

    @property
    def key(self) -> str:
        options = self.host.options
        told = [self.host.version, self.host.model.path, *(str(options.parsed.get(name)) for name in KEYED)]
        told.append(str(self.host.layout.tensor_parallel))
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    @property
    def compiled(self) -> Path:
        folder = self.root / "torch_compile_cache" / "torch_aot_compile" / self.key
        return folder / f"rank_{self.rank}_{self.dp}" / "model"

    @property
    def tuned(self) -> Path:
        name = f"autotune_configs_dp{self.dp}_rank{self.rank}.json"
        return self.root / "flashinfer_autotune_cache" / "simulated" / self.key / name

    def finds_compiled(self) -> bool:
        """Whether an earlier start's artefact is loaded. Raises `Fault` for one that is poisoned."""
        text = read(self.compiled)
        if text == CONTENT:
            self.log.says("decorators.py:322", f"Directly load AOT compilation from path {self.compiled}")
            return True
        if text is not None and text.startswith(POISONED):
            raise Fault(CORRUPT, "caching.py:86")
        if text is not None:
            reason = "invalid load key (SIMULATED)"
            again = f"Compiling model again due to a load failure from {self.compiled}, reason: {reason}"
            self.log.warns("decorators.py:332", again)
        return False

    def keep_compiled(self) -> None:
        if write(self.compiled):
            self.log.says("decorators.py:748", f"saved AOT compiled function to {self.compiled}")

    def finds_tuned(self) -> bool:
        return read(self.tuned) == CONTENT

    def keep_tuned(self) -> None:
        write(self.tuned)


def read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def write(path: Path) -> bool:
    """By rename. A folder that takes no file is no reason to fail, as with vLLM."""
    half = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.write_text(CONTENT, encoding="utf-8")
        half.replace(path)
    except OSError:
        return False
    return True
