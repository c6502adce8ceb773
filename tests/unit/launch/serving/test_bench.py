"""A benchmark's words, its script, its results and what two of them say."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import BadInput
from launch.serving.bench.guidellm import scenario
from launch.serving.bench.results import compared_rows, differences, read_result, result_rows
from launch.serving.bench.run import bench_script, refuse_too_long
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


@pytest.mark.parametrize(
    ("longest", "refuses"), [("119", True), ("120", False), ("131072", False), ("128k", False), ("", False)]
)
def test_requests_that_the_model_cannot_take_are_not_sent(longest: str, refuses: bool) -> None:  # noqa: FBT001
    options = ("--max-model-len", longest) if longest else ()
    stored = StoredCommand("/opt/env/bin/vllm", None, {}, "/w/m", options)
    if not refuses:
        refuse_too_long(WORK, stored)
        return
    with pytest.raises(BadInput) as caught:
        refuse_too_long(WORK, stored)
    assert caught.value.next_command == "the same command with --input-tokens 59 --output-tokens 29"
    refuse_too_long(Workload(10, 100, 20, data="/data/speed"), stored)


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


REPORT = {
    "benchmarks": [
        {
            "duration": 2.0,
            "scheduler_metrics": {"requests_made": {"successful": 6, "errored": 1, "incomplete": 0, "total": 7}},
            "metrics": {
                **{
                    key: {"successful": {"mean": mean}}
                    for key, mean in (
                        ("requests_per_second", 3.0),
                        ("output_tokens_per_second", 50.0),
                        ("tokens_per_second", 130.0),
                    )
                },
                **{
                    key: {"successful": {"mean": mean, "percentiles": {"p50": mean, "p95": 2 * mean, "p99": 3 * mean}}}
                    for key, mean in (
                        ("time_to_first_token_ms", 30.0),
                        ("inter_token_latency_ms", 5.0),
                        ("time_per_output_token_ms", 6.0),
                        ("request_latency", 0.5),
                    )
                },
            },
        }
    ]
}


def by_guidellm(tmp_path: Path, key: str) -> dict[str, Any]:
    """The scenario that a program in GuideLLM's place is given."""
    fake = tmp_path / "guidellm"
    fake.write_text("#!/bin/sh\ncat scenario.json >result.json\nstat -c %a scenario.json >mode\n")
    fake.chmod(0o755)
    folder = tmp_path / "g" / "benchmarks" / "r1"
    folder.mkdir(parents=True)
    (tmp_path / "g" / "api-key").write_text(f"{key}\n")
    work = Workload(10, 100, 20, concurrency=4, guidellm=str(fake))
    text = bench_script(with_key(), work, STORED, folder=str(folder), about=json.dumps(ABOUT))
    done = sh(text)
    assert done.returncode == 0, done.stderr
    assert (folder / "mode").read_text().strip() == "600"
    assert not (folder / "scenario.json").exists(), "it held the key"
    told: dict[str, Any] = json.loads((folder / "result.json").read_text())["spec"]
    return told


@pytest.mark.parametrize("key", ["sk-1234567890123456", 'a"b\\c&d/e\'f$(g)`h`"\\', "\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\"])
def test_guidellm_reads_the_key_from_a_file_of_its_owner(tmp_path: Path, key: str) -> None:
    told = by_guidellm(tmp_path, key)
    assert told["backend"]["api_key"] == key
    assert told["profile"] == {"kind": "concurrent", "streams": 4}
    assert told["tokenizer"]["model"] == "/w/m"


def test_a_report_of_guidellm_has_the_names_of_vllm() -> None:
    found = read_result("r1", json.dumps({**ABOUT, "guidellm": "/opt/guidellm"}), json.dumps(REPORT))
    assert found.values["completed"] == 6
    assert found.values["failed"] == 1
    assert found.values["p95_ttft_ms"] == 60
    assert found.values["mean_e2el_ms"] == 500, "seconds there, milliseconds here"
    with pytest.raises(ValueError, match="GuideLLM"):
        read_result("r1", json.dumps({**ABOUT, "guidellm": "/opt/guidellm"}), "{}")


@pytest.mark.parametrize(
    ("work", "kind"),
    [
        (Workload(1, 1, 1), "throughput"),
        (Workload(1, 1, 1, concurrency=2), "concurrent"),
        (Workload(1, 1, 1, concurrency=2, rate=3.0), "constant"),
    ],
)
def test_how_requests_come_is_a_profile_of_guidellm(work: Workload, kind: str) -> None:
    text = scenario(work, url="http://h:1", served_name="m", tokenizer="/w", result="/r", asks_key=False)
    spec = json.loads(text)["spec"]
    assert spec["profile"]["kind"] == kind
    assert "api_key" not in spec["backend"]
