"""What a simulated worker keeps for the next start: names of vLLM, and what becomes of a spoiled file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from launch.caches.hits import CacheHits
from launch.caches.merge import rank_of
from launch.standin.caches import WorkerCaches
from launch.standin.log import Fault, Log


class Said(Log):
    """Keeps what would be printed."""

    def __init__(self) -> None:
        super().__init__("Worker_DP8_TP1")
        self.lines: list[str] = []

    def line(self, level: str, place: str, message: str) -> None:  # noqa: ARG002
        self.lines.append(message)


def worker(root: Path | None, model: str = "/w/m") -> WorkerCaches:
    parsed: dict[str, Any] = {"max_model_len": 4096}
    host = SimpleNamespace(
        env={"VLLM_CACHE_ROOT": str(root)} if root else {},
        options=SimpleNamespace(parsed=parsed),
        version="0.33.0",
        model=SimpleNamespace(path=model),
        layout=SimpleNamespace(tensor_parallel=2),
    )
    return WorkerCaches(cast("Any", host), Said(), 1, 8)


def told(caches: WorkerCaches) -> CacheHits:
    hits = CacheHits()
    for line in cast("Said", caches.log).lines:
        hits.feed("Worker_DP8_TP1", line)
    return hits


def test_a_start_leaves_what_the_next_one_finds_under_vllms_names(tmp_path: Path) -> None:
    cold, warm = worker(tmp_path), worker(tmp_path)
    assert not cold.finds_compiled()
    cold.keep_compiled()
    cold.keep_tuned()
    assert told(cold).found == {(1, 8): False}
    assert warm.finds_compiled()
    assert warm.finds_tuned()
    assert told(warm).found == {(1, 8): True}
    for path in (cold.compiled, cold.tuned):
        found = rank_of(f"vllm/{path.relative_to(tmp_path)}")
        assert found is not None
        assert found[1] == (1, 8)


def test_another_model_or_rank_finds_nothing(tmp_path: Path) -> None:
    worker(tmp_path).keep_compiled()
    assert not worker(tmp_path, "/w/other").finds_compiled()
    assert not replace(worker(tmp_path), dp=9).finds_compiled()


def test_a_spoiled_file_is_compiled_again_and_a_poisoned_one_ends_it(tmp_path: Path) -> None:
    caches = worker(tmp_path)
    caches.keep_compiled()
    caches.compiled.write_text("half")
    assert not caches.finds_compiled()
    assert told(caches).unusable == {(1, 8): "invalid load key (SIMULATED)"}
    caches.compiled.write_text("poisoned")
    with pytest.raises(Fault, match="checksum does not match"):
        caches.finds_compiled()


def test_without_a_root_nothing_is_kept() -> None:
    caches = worker(None)
    caches.keep_compiled()
    assert not caches.finds_compiled()
    assert told(caches).found == {}
