"""A benchmark's words, its script, its results and what two of them say."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from launch.serving.bench.results import compared_rows, differences, read_result, result_rows
from launch.serving.bench.run import bench_script
from launch.serving.bench.workload import Workload, bench_words
from launch.serving.stored_command import StoredCommand
from tests.unit.launch.serving.gang import GANG, with_key
from tests.unit.playbooks.sh import sh

STORED = StoredCommand("/opt/env/bin/vllm", None, {"HOME": "/c"}, "/w/m", ("--tokenizer-mode", "deepseek_v4"))
WORK = Workload(requests=10, input_tokens=100, output_tokens=20, concurrency=4)
ABOUT = {"format_version": 1, "id": "r1", "generation": "0123456789ab", "requests": 10}
MEASURED = {"completed": 10, "failed": 0, "output_throughput": 50.0, "p95_ttft_ms": 120.0, "ttfts": [1, 2]}


def words(work: Workload = WORK, stored: StoredCommand = STORED) -> list[str]:
    return bench_words(work, stored, url="http://h:8000", served_name="m", folder="/b/r1")


def value(given: list[str], flag: str) -> str:
    return given[given.index(flag) + 1]


def test_the_client_cuts_text_into_tokens_as_the_server_does() -> None:
    assert value(words(), "--model") == "/w/m", "the folder of the weights: its tokenizer"
    assert value(words(), "--served-model-name") == "m"
    assert value(words(), "--tokenizer-mode") == "deepseek_v4"
    assert "--tokenizer" not in words()


def test_random_answers_are_as_long_as_asked_for() -> None:
    given = words()
    assert (value(given, "--random-input-len"), value(given, "--random-output-len")) == ("100", "20")
    assert "--ignore-eos" in given
    assert value(given, "--max-concurrency") == "4"
    assert "--request-rate" not in given


def test_speed_bench_is_text_through_the_chat_template() -> None:
    given = words(Workload(10, 100, 20, rate=2.5, data="/data/speed", subset="throughput_2k"))
    assert value(given, "--dataset-path") == "/data/speed"
    assert value(given, "--speed-bench-dataset-subset") == "throughput_2k"
    assert value(given, "--endpoint") == "/v1/chat/completions"
    assert value(given, "--request-rate") == "2.5"
    assert "--ignore-eos" not in given


def test_every_option_is_one_of_the_pinned_vllm() -> None:
    """Those that `vllm bench serve --help=all` of 0.33.0 names; its parser is no part of the schema here."""
    known = "base-url model served-model-name tokenizer tokenizer-mode trust-remote-code num-prompts dataset-name"
    known += " dataset-path random-input-len random-output-len ignore-eos backend endpoint max-concurrency request-rate"
    known += " percentile-metrics metric-percentiles save-result result-dir result-filename"
    known += " speed-bench-dataset-subset speed-bench-output-len"
    for work in (WORK, Workload(1, 1, 1, 1, 1.0, "/d")):
        assert {word.removeprefix("--") for word in words(work) if word.startswith("--")} <= {*known.split()}


def script(tmp_path: Path, program: str) -> tuple[int, Path]:
    """Run the job with `program` in the place of vLLM."""
    fake = tmp_path / "vllm"
    fake.write_text(f"#!/bin/sh\n{program}\n")
    fake.chmod(0o755)
    stored = StoredCommand(str(fake), None, {"PATH": "/usr/bin:/bin", "ODD": "a'b $(c)"}, "/w/m", ())
    folder = tmp_path / "g" / "benchmarks" / "r 1"
    (tmp_path / "g").mkdir(exist_ok=True)
    (tmp_path / "g" / "api-key").write_text("sk-1234567890123456\n")
    text = bench_script(with_key(), WORK, stored, folder=str(folder), about=json.dumps(ABOUT))
    assert "sk-1234567890123456" not in text
    return sh(text).returncode, folder


def test_the_job_has_the_environment_of_the_ranks_and_the_key(tmp_path: Path) -> None:
    code, folder = script(tmp_path, 'printf "%s %s" "$ODD" "$OPENAI_API_KEY" >result.json')
    assert code == 0
    assert (folder / "result.json").read_text() == "a'b $(c) sk-1234567890123456"
    assert json.loads((folder / "about.json").read_text()) == ABOUT


@pytest.mark.parametrize("program", ["exit 3", "exit 0"])
def test_a_job_without_a_result_has_failed(tmp_path: Path, program: str) -> None:
    assert script(tmp_path, program)[0] != 0


def test_in_a_container_the_result_is_fetched_out() -> None:
    inside = StoredCommand("vllm", "docker", {}, "/w/m", ())
    text = bench_script(GANG, WORK, inside, folder="/g/benchmarks/r1", about="{}")
    run = next(line for line in text.splitlines() if " bench serve " in line)
    given = shlex.split(run.removesuffix(" || exit 1"))
    assert given[given.index("docker") :][:4] == ["docker", "exec", "bringup-deepseek-v4-pro", "vllm"]
    assert value(given, "--result-dir") == "/tmp/r1"
    assert "cat /tmp/r1/result.json >result.json" in text


def test_results_are_shown_compared_and_told_apart() -> None:
    first = read_result("r1", json.dumps(ABOUT), json.dumps(MEASURED))
    slower = {**MEASURED, "output_throughput": 40.0, "p95_ttft_ms": 90.0, "spec_decode_acceptance_rate": 61.5}
    second = read_result("r2", json.dumps({**ABOUT, "id": "r2", "requests": 20}), json.dumps(slower))
    assert ("output tokens", "50 /s") in [tuple(row) for row in result_rows(first)[1]]
    rows = {row[0]: row[1:] for row in compared_rows(first, second)[1]}
    assert rows["output tokens"] == ("50 /s", "40 /s", "-20.0% worse")
    assert rows["first token p95"] == ("120 ms", "90 ms", "-25.0% better")
    assert rows["drafts accepted"] == ("-", "61.50 %", "-")
    assert differences(first, second) == ["requests: 10 and 20"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format_version": 2}'])
def test_other_files_are_no_results(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_result("r1", text, json.dumps(MEASURED))
