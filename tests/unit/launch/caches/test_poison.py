"""Which failed start blames a cache, and which only passes through one."""

from __future__ import annotations

import pytest

from launch.caches.poison import poison_of

ROOT = "/var/lib/bringup/caches/0123456789ab/vllm/torch_compile_cache"
WORKER = "(Worker_TP0 pid=12) ERROR 11-29 19:35:13 [multiproc.py:1] "


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: vLLM failed to compile the model. The most likely reason for this is a stale cache",
        "AssertionError: failed to get the hash of the compiled graph",
        f"{WORKER}RuntimeError: Compile cache file corrupted at {ROOT}/ab/rank_0_0/backbone",
        "RuntimeError: Bytes object is corrupted, checksum does not match. Expected: 0x1",
        "ImportError: /var/lib/bringup/caches/0123456789ab/.cache/flashinfer/0.7.2/x.so: undefined symbol: _Z1",
        f"OSError: {ROOT}/torch_aot_compile/ab/inductor_cache/x.so: file too short",
        f"FileNotFoundError: [Errno 2] No such file or directory: '{ROOT}/torch_aot_compile/ab/rank_0_8/model'",
    ],
)
def test_what_only_a_cache_can_say(line: str) -> None:
    found = poison_of("tray1", ["INFO all is well", line, "then more"])
    assert found is not None
    assert (found.host, found.line) == ("tray1", line[:300])


def test_a_traceback_through_a_cached_file_counts_by_how_it_ends() -> None:
    frame = f'{WORKER}  File "{ROOT}/ab/rank_0_0/inductor_cache/x.py", line 7, in call'
    ends = f"{WORKER}AssertionError: expected size 4096==2048"
    assert poison_of("h", [frame, f"{WORKER}    assert_size_stride(a)", ends]) is not None
    assert poison_of("h", [ends, frame]) is None, "it ended before"
    assert poison_of("h", [frame, *["x"] * 50, ends]) is None, "that is another traceback"
    memory = f"{WORKER}torch.OutOfMemoryError: CUDA out of memory"
    assert poison_of("h", [frame, memory]) is None, "compiled code runs where memory ends too"


@pytest.mark.parametrize(
    "line",
    [
        "Compiling model again due to a load failure from /x/model, reason: Source code has changed",
        f"Using cache directory: {ROOT}/ab/rank_0_0/backbone for vLLM's torch.compile",
        "ValueError: too many values to unpack (expected 2)",
        "FileNotFoundError: [Errno 2] No such file or directory: '/s/weights/m/c/config.json'",
        "OSError: [Errno 28] No space left on device",
        "",
    ],
)
def test_what_is_no_reason_to_throw_hours_of_compiling_away(line: str) -> None:
    assert poison_of("h", [line]) is None
