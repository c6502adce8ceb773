"""Every command of two published texts about vLLM: taken as written, or refused and put right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from launch.vllm_args import check
from launch.vllm_args.translations import translate
from tests.golden.handbook import Command, _words, commands, variables

FOLDER = Path(__file__).resolve().parents[2] / "../shared/handbook"
V33 = "0.33.0"
NOT_OF_SERVE = ("--dataset-name", "--ipc=host")  # of `vllm bench serve` and of docker
# A part of a command needs the rest of it: decode context parallelism divides the tensor size.
COMPLETED = {"-dcp 8": ["-tp", "8"], "--decode-context-parallel-size 8": ["-tp", "8"]}
TABLES = (  # cells of the texts' tables that are not options in themselves, and what 0.33.0 says to them
    ("--tool-call-parser glm47_moe", "--tool-call-parser glm47"),
    ("--tokenizer-mode glm5_next", "--tokenizer-mode auto"),
    ("--tokenizer-mode kimi_k3 --tool-call-parser kimi_k3 --reasoning-parser kimi_k3", None),
    ("--tokenizer-mode deepseek_v4 --tool-call-parser deepseek_v4 --reasoning-parser deepseek_v4", None),
    ("--tokenizer-mode auto --tool-call-parser qwen3_coder --reasoning-parser qwen3", None),
    ("--tool-call-parser minimax_m3 --reasoning-parser minimax_m3", None),
    ("--tool-call-parser openai", None),
    ("--reasoning-parser glm47", None),
    ("--reasoning-parser glm45", None),
    ("--kv-cache-dtype fp8_ds_mla", None),
    ("--kv-cache-dtype int4_per_token_head", None),
)


def texts() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}


def cases() -> list[Command]:
    return [one for text in texts().values() for one in commands(text) if not set(NOT_OF_SERVE) & set(one.argv)]


needs_texts = pytest.mark.skipif(not texts(), reason="the two texts are not beside this checkout")


@needs_texts
@pytest.mark.parametrize("command", cases(), ids=str)
def test_each_command_is_taken_or_translated(command: Command) -> None:
    part = " ".join(command.argv[1:])
    argv, env = [*command.argv, *COMPLETED.get(part, [])], dict(command.env)
    refused = [one.token for one in check(argv, env, V33)]
    after = translate(argv, env, V33)
    left = [(one.token, one.nearest) for one in check(after.argv, after.env, V33)]
    if "glm5_next" in argv:
        assert (refused, left) == (["--tokenizer-mode glm5_next"], [])
    elif "deep_gemm_amxf4_mega_moe" in argv:
        assert refused == [
            "--moe-backend deep_gemm_amxf4_mega_moe",
            "--data-parallel-address",
            "VLLM_DSV4_MEGA_FP8_COMBINE",
        ]
        assert left == [("--data-parallel-address", "--data-parallel-address ADDRESS_OF_THE_HEAD")]
    else:
        assert (refused, after.notes) == ([], ())


@needs_texts
def test_both_texts_are_read_whole() -> None:
    """Every `vllm serve` and `docker run`, wherever it stands, is one of the cases above."""
    seen = 0
    for text in texts().values():
        cased = {" ".join(one.argv) for one in commands(text)}
        written = re.findall(r"(?:vllm serve|vllm/vllm-openai:\S+) +([!-~][^\n`|]+)", text.replace("\\\n", " "))
        for words in (" ".join(_words(one)) for one in written if one.strip() != "--help"):
            assert words in cased, words
            seen += 1
    assert seen > 30


@needs_texts
def test_variables_of_the_texts() -> None:
    named = {name for text in texts().values() for name, _ in variables(text)}
    unread = {one.token for one in check(["m"], dict.fromkeys(named, "1"), V33)}
    assert unread == {"VLLM_DSV4_MEGA_FP8_COMBINE", "VLLM_USE_V1"}


@pytest.mark.parametrize(("words", "becomes"), TABLES)
def test_names_of_the_texts_tables(words: str, becomes: str | None) -> None:
    argv = ["m", *words.split()]
    assert bool(check(argv, {}, V33)) == (becomes is not None)
    assert list(translate(argv, {}, V33).argv) == ["m", *(becomes or words).split()]


def test_mori_is_refused_with_the_names_that_0_33_has() -> None:
    (refusal,) = check(["m", "--all2all-backend", "mori"], {}, V33)
    assert "mori_high_throughput" in refusal.nearest
    assert "mori_low_latency" in refusal.nearest
