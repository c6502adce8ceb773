"""Real logs of vLLM 0.32.0 (CPU, tiny models, two hosts); lines of GPU phases are as 0.33.0's source writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.watching.phases import Phase, Progress, Role, phase_of

LOGS = Path(__file__).parents[3] / "fixtures" / "logs"
SERVING, HEADLESS = Role.SERVING, Role.HEADLESS


def lines_of(name: str) -> list[str]:
    # Only a line feed ends a line: progress bars have carriage returns.
    return (LOGS / f"{name}.log").read_text(encoding="utf-8").split("\n")


def phases_of(name: str, role: Role) -> list[Phase]:
    progress, seen = Progress(role), [Phase.UP]
    for line in lines_of(name):
        progress.feed(line)
        if progress.phase is not seen[-1]:
            seen.append(progress.phase)
    return seen


@pytest.mark.parametrize(
    ("name", "role", "phase", "decided_by", "tokens"),
    [
        ("single-ready-then-stopped", SERVING, Phase.READY, "Application startup complete.", 65536),
        ("internal-head-stopped", SERVING, Phase.READY, "Application startup complete.", 65536),
        ("internal-follower-engine-killed", HEADLESS, Phase.READY, "init engine (", 65536),
        ("hybrid-first", SERVING, Phase.READY, "Application startup complete.", 2 * 65536),
        ("head-follower-never-joins", SERVING, Phase.WAITING, "init engine (", 65536),
        ("wrong-interface-head", SERVING, Phase.WAITING, "init engine (", 65536),
        ("not-headless-follower", HEADLESS, Phase.CONFIGURED, "non-default args", None),
    ],
)
def test_logs_without_a_failure(name: str, role: Role, phase: Phase, decided_by: str, tokens: int | None) -> None:
    progress = phase_of(lines_of(name), role)

    assert (progress.phase, progress.error, progress.kv_cache_tokens) == (phase, None, tokens)
    assert decided_by in progress.line


@pytest.mark.parametrize(
    ("name", "phase", "error"),
    [
        ("unknown-option", Phase.FAILED, "unrecognized arguments: --moe-backendd x"),
        ("cache-too-small", Phase.FAILED, "ValueError: No available memory for the cache blocks."),
        ("wrong-interface-follower", Phase.FAILED, "Unable to find address for: nope0"),
        ("follower-head-absent", Phase.FAILED, "Did not receive response from front-end process within 5 minutes"),
        ("first-request-fails", Phase.FAILED, "RuntimeError: Unsupported CPU attention configuration: head_dim=16"),
        # The main process alone: its traceback is the last that is heard of it, and its end decides.
        ("no-such-model", Phase.CONFIGURED, "HFValidationError: Repo id must be in the form"),
        ("length-too-long", Phase.CONFIGURED, "Value error, User-specified max_model_len (99999) is greater"),
        ("port-busy", Phase.CONFIGURED, "OSError: [Errno 98] Address already in use"),
        ("not-headless-head", Phase.JOINING, "RuntimeError: Remote engine 1 must use --headless"),
        ("head-stale-follower", Phase.JOINING, "HELLO message from remote engine 1, expected it to be local"),
    ],
)
def test_the_first_cause_is_told_and_not_its_consequence(name: str, phase: Phase, error: str) -> None:
    progress = phase_of(lines_of(name), HEADLESS if "follower" in name else SERVING)

    assert progress.phase is phase
    assert error in (progress.error or "")
    assert "Engine core initialization failed" not in (progress.error or "")


def test_a_head_goes_through_all_phases_of_a_host_without_graphs() -> None:
    assert phases_of("internal-head-stopped", SERVING) == [
        Phase.UP,
        Phase.CONFIGURED,
        Phase.JOINING,
        Phase.ENGINE,
        Phase.LOADING,
        Phase.CACHE,
        Phase.WAITING,
        Phase.READY,
    ]


def test_a_headless_host_is_ready_when_all_engines_that_it_announced_are_up() -> None:
    up = "INFO 11-29 19:35:12 [core.py:402] init engine (profile, create kv cache, warmup model) took 0.19 s"
    launching = "Launching 2 data parallel engine(s) in headless mode, with head node address tcp://10.0.0.1:13345."
    progress, seen = Progress(HEADLESS), []
    for line in (
        f"(MainProcess pid=1) INFO 11-29 19:34:40 [serve.py:239] {launching}",
        f"(EngineCore_DP3 pid=2) {up}",
        f"(EngineCore_DP3 pid=2) {up}",  # the same engine twice is not two
        f"(EngineCore_DP2 pid=3) {up}",
    ):
        progress.feed(line)
        seen.append(progress.phase)

    assert seen == [Phase.JOINING, Phase.WAITING, Phase.WAITING, Phase.READY]


GPU = (
    ("(Worker_TP0 pid=9) INFO 11-29 19:35:12 [gpu_model_runner.py:4979] Starting to load model m...", Phase.LOADING),
    (
        "(Worker_TP0 pid=9) INFO 11-29 19:35:30 [backends.py:1126] Using cache directory: /c for vLLM's torch.compile",
        Phase.COMPILING,
    ),
    (
        "(EngineCore pid=8) INFO 11-29 19:36:30 [kv_cache_utils.py:1148] GPU KV cache size: 1,234,567 tokens, Maximum",
        Phase.CACHE,
    ),
    ("Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  51%|#####     | 18/35 [00:01<00:01]", Phase.CAPTURING),
)


def test_phases_that_only_gpus_have() -> None:
    progress, seen = Progress(SERVING), []
    for line, _ in GPU:
        progress.feed(line)
        seen.append(progress.phase)

    assert seen == [phase for _, phase in GPU]
    assert progress.kv_cache_tokens == 1_234_567
    assert progress.sentence == "capturing graphs (51 %)"


def test_a_progress_bar_is_read_to_its_last_state() -> None:
    progress = Progress(SERVING)
    bar = "Loading safetensors checkpoint shards: {:3d}% Completed | {}/4 [00:01<00:03, 1.00it/s]"
    progress.feed("\r" + bar.format(25, 1) + "\r" + bar.format(75, 3))
    assert progress.sentence == "loading weights (75 %)"

    progress.feed("(EngineCore pid=8) INFO 11-29 19:36:30 [k.py:1] GPU KV cache size: 1,000 tokens, Maximum")
    assert progress.sentence == "KV cache allocated", "a percentage belongs to its phase"


def test_a_warning_with_a_traceback_and_words_of_a_failure_do_not_fail_a_start() -> None:
    progress = Progress(SERVING)
    warn = "(APIServer pid=1) WARNING 11-29 19:36:30 [plugins.py:9]"
    for text in ("optional thing is missing", "Traceback (most recent call last):", '  File "x"', "ImportError: y"):
        progress.feed(f"{warn} {text}")
    progress.feed(f"{warn} can cause fd limit errors like `OSError: [Errno 24] Too many open files`")
    progress.feed("INFO:     Application startup complete.")

    assert (progress.phase, progress.error) == (Phase.READY, None)


def test_what_an_engine_reports_while_it_is_being_stopped_is_no_failure() -> None:
    text = (LOGS / "single-ready-then-stopped.log").read_text(encoding="utf-8")
    assert "EngineDeadError" in text
    assert phase_of(text.split("\n"), SERVING).error is None


@given(
    st.lists(st.sampled_from([line for name in ("internal-head-stopped", "hybrid-first") for line in lines_of(name)]))
)
def test_no_order_of_lines_makes_a_phase_go_back(lines: list[str]) -> None:
    progress = Progress(SERVING)
    for line in lines:
        before = progress.phase.order
        progress.feed(line)
        assert progress.phase.order >= before


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    progress = phase_of(text.split("\n"), SERVING)
    assert isinstance(progress.sentence, str)
