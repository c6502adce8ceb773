"""What a log says of compiled code: lines of vLLM 0.33.0, rank by rank."""

from __future__ import annotations

import pytest

from launch.caches.hits import CacheHits, named, sentence

ROOT = "/s/caches/x/vllm/torch_compile_cache"
AOT = f"{ROOT}/torch_aot_compile/ab12"


def told(*lines: tuple[str, str]) -> CacheHits:
    hits = CacheHits()
    for process, text in lines:
        hits.feed(process, text)
    return hits


def test_a_loaded_artefact_is_a_hit_and_a_saved_one_a_miss() -> None:
    hits = told(
        ("Worker_DP8", f"Directly load AOT compilation from path {AOT}/rank_0_8/model"),
        ("Worker_DP9", f"[eagle_head] saved AOT compiled function to {AOT}/rank_0_9/model"),
    )
    assert hits.found == {(0, 8): True, (0, 9): False}
    assert hits.is_warm is False


def test_without_aot_the_graphs_tell_of_the_rank_whose_folder_the_process_named() -> None:
    folder = f"Using cache directory: {ROOT}/ab/rank_1_0/backbone for vLLM's torch.compile"
    graph = "Directly load the compiled graph(s) for compile range (1, 8192) from the cache, took 0.120 s"
    assert told(("W1", folder), ("W1", graph)).found == {(1, 0): True}
    again = "Compiling a graph for compile range (1, 8192) takes 11.20 s"
    assert told(("W1", folder), ("W1", graph), ("W1", again)).found == {(1, 0): False}, "one part anew is cold"
    assert told(("W2", graph)).found == {}, "nobody said whose it is"


def test_what_cannot_be_loaded_says_why() -> None:
    line = f"Compiling model again due to a load failure from {AOT}/rank_0_0/model, reason: Source code has changed"
    hits = told(("W", line), ("W", f"saved AOT compiled function to {AOT}/rank_0_0/model"))
    assert hits.unusable == {(0, 0): "Source code has changed"}
    assert sentence({"tray1": hits}) == (
        "compiled code was found for 0 of 1 rank(s); compiled anew: rank_0_0 (Source code has changed)"
    )


@pytest.mark.parametrize("line", ["Application startup complete.", "torch.compile took 3.00 s in total", ""])
def test_other_lines_tell_nothing(line: str) -> None:
    hits = told(("W", line))
    assert (hits.is_warm, sentence({"tray1": hits})) == (None, "")


def test_a_gang_is_told_in_one_line() -> None:
    warm = told(*(("W", f"Directly load AOT compilation from path {AOT}/rank_0_{dp}/model") for dp in range(8)))
    assert sentence({"tray1": warm}) == "compiled code was found for all 8 rank(s)"
    cold = told(*(("W", f"saved AOT compiled function to {AOT}/rank_0_{dp}/model") for dp in range(8, 16)))
    assert sentence({"tray1": warm, "tray2": cold}).endswith(
        "8 of 16 rank(s); compiled anew: rank_0_8, rank_0_9, rank_0_10, rank_0_11 and 4 more"
    )
    assert named([(0, 1)]) == "rank_0_1"
