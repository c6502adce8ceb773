"""CUDA graphs for drafted tokens: S x (K + 1), when it is written, and what is warned of."""

from __future__ import annotations

import pytest

from launch.choosing.reasons import Reason
from launch.planned.speculation import speculation_words
from launch.resolve.gates import Place
from launch.vllm_args import parse
from tests.unit.launch.real_gangs import OURS


def made(words: str, hardware: str = "h200", **typed: str) -> tuple[list[str], list[Reason]]:
    found = OURS.find("glm-5")
    return speculation_words(
        parse(["model", *words.split()], "0.33.0"), Place(found.recipe, found.library, "default", hardware), typed
    )


def drafts(tokens: int, sequences: int | None, more: str = "") -> str:
    limit = f"--max-num-seqs {sequences} " if sequences else ""
    return f'{limit}--speculative-config {{"method":"mtp","num_speculative_tokens":{tokens}}} {more}'


@pytest.mark.parametrize(
    ("tokens", "sequences", "hardware", "size"),
    [
        (3, 512, "h200", "2048"),
        (3, 512, "b300", "2048"),
        (5, 100, "h200", "608"),  # 600, up to what vLLM captures large graphs at
        (1, 300, "h200", "608"),
        (3, 256, "b300", None),  # 1024, which vLLM captures by itself on data-centre Blackwell
        (3, 256, "h200", "1024"),
        (3, 256, "dgx_spark_gb10", "1024"),
        (1, 8, "h200", None),
        (3, 128, "h200", None),
    ],
)
def test_the_size_is_sequences_times_drafted_and_one_where_vllm_would_stop_before(
    tokens: int, sequences: int, hardware: str, size: str | None
) -> None:
    words, reasons = made(drafts(tokens, sequences), hardware)
    assert words == (["--max-cudagraph-capture-size", size] if size else [])
    assert [one.warns for one in reasons] == ([False, True] if size else [False])
    assert ("S x (K + 1)", str(sequences * (tokens + 1))) in reasons[0].numbers
    assert "vllm/config/vllm.py" in reasons[0].source


@pytest.mark.parametrize(("hardware", "sequences"), [("h200", 1024), ("b300", 1024), ("l40s", 256), ("a100", 256)])
def test_a_number_of_sequences_that_nobody_said_is_vllms_and_writes_nothing(hardware: str, sequences: int) -> None:
    words, reasons = made(drafts(3, None), hardware)
    assert words == []
    numbers = dict(reasons[0].numbers)
    assert numbers["sequences S"] == f"{sequences} (vLLM's default on {hardware})"
    assert reasons[0].warns
    most = int(numbers["graphs by vLLM's default"]) // 4
    assert f"more than {most} requests" in reasons[0].rule


def test_a_size_that_was_typed_stays_and_is_warned_of_when_it_is_too_small() -> None:
    words, (why,) = made(
        drafts(3, 512, "--max-cudagraph-capture-size 512"), max_cudagraph_capture_size="--set max-cudagraph..."
    )
    assert words == []
    assert why.warns
    assert "more than 128 sequences" in why.rule
    assert why.source.startswith("--set")


def test_a_size_of_the_recipe_that_covers_all_stays() -> None:
    words, (why,) = made(drafts(1, 8, "--cudagraph-capture-sizes 4 8 16"))
    assert words == []
    assert (why.chosen, why.warns) == ("16", False)


def test_a_size_of_the_recipe_that_does_not_is_recomputed() -> None:
    words, _ = made(drafts(3, 64, "--max-cudagraph-capture-size 64"))
    assert words == ["--max-cudagraph-capture-size", "256"]


@pytest.mark.parametrize("words", ["--max-num-seqs 512", drafts(3, 512, "--enforce-eager"), "--speculative-config {}"])
def test_nothing_to_say_without_drafting_or_graphs(words: str) -> None:
    assert made(words) == ([], [])
    assert made(drafts(3, 512), "cpu") == ([], [])
