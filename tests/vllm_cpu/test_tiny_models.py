"""The embedded recipes on the real vLLM, held against a second implementation of the models: transformers' own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from launch.tiny import make_weights
from tests.vllm_cpu.server import serving

pytestmark = [pytest.mark.vllm_cpu, pytest.mark.serial, pytest.mark.timeout(1500)]

WORDS = "Say hello."
TOKENS = 16
COUNTER = "vllm:request_success_total{"
# What each model says, token by token the likeliest, as transformers computes it.
ORACLE = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
for folder in sys.argv[1:]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    chat = [{"role": "user", "content": WORDS}]
    words = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    tokens = model.generate(**words, max_new_tokens=TOKENS, do_sample=False)[0][words["input_ids"].shape[1]:]
    print(json.dumps(tokenizer.decode(tokens, skip_special_tokens=True)))
"""


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("weights")
    for kind in ("dense", "moe"):
        named = ["--repo", f"bringup/tiny-{kind}", "--commit", "0" * 40, "--target", str(folder / kind)]
        subprocess.run([sys.executable, "-I", make_weights.__file__, "--kind", kind, *named], check=True, timeout=20)
    return {kind: folder / kind for kind in ("dense", "moe")}


@pytest.fixture(scope="module")
def oracle(environment: Path, weights: dict[str, Path]) -> dict[str, str]:
    program = ORACLE.replace("WORDS", repr(WORDS)).replace("TOKENS", str(TOKENS))
    argv = [f"{environment}/bin/python", "-c", program, *map(str, weights.values())]
    said = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=True)
    return dict(zip(weights, map(json.loads, said.stdout.splitlines()[-2:]), strict=True))


def test_dense(environment: Path, weights: dict[str, Path], oracle: dict[str, str], tmp_path: Path) -> None:
    with serving(environment, weights["dense"], tmp_path, model="tiny-dense", strategy="single_node_tp") as server:
        assert server.complete("tiny-dense", WORDS, max_tokens=TOKENS) == oracle["dense"]
        assert server.progress.kv_cache_tokens == 65536
        assert len([one for one in server.members.values() if one.startswith("VLLM::")]) == 1, (
            "engine and worker are one"
        )
        assert server.marked == set(server.members), "every process is found by the mark, renamed ones too"

        assert server.terminate() < 30
        assert server.marked == set()


def test_experts_of_a_group_answer_as_one_model(
    environment: Path, weights: dict[str, Path], oracle: dict[str, str], tmp_path: Path
) -> None:
    """Two ranks, four of the eight experts each: a wrong share of one of them would change the words."""
    with serving(environment, weights["moe"], tmp_path, model="tiny-moe", strategy="single_node_dep") as server:
        said = {server.complete("tiny-moe", WORDS, max_tokens=TOKENS) for _ in range(4)}
        assert said == {oracle["moe"]}
        counted = [line for line in server.ask("/metrics").splitlines() if line.startswith(COUNTER)]
        by_rank = [line.rpartition(" ")[2] for line in counted if 'finished_reason="length"' in line]
        assert by_rank == ["2.0", "2.0"], "both ranks were asked"
        assert server.progress.kv_cache_tokens == 2 * 65536

        assert server.terminate() < 30
