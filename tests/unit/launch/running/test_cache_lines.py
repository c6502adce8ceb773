from __future__ import annotations

import pytest

from launch.running.cache_lines import MOST_CHARACTERS, MOST_LINES, against, kept, of_line, of_lines

LINE = (
    "(EngineCore_DP1 pid=7) INFO 11-29 19:35:13 [kv_cache_utils.py:1150] GPU KV cache size: 643,232 tokens, "
    "Maximum concurrency for 40,960 tokens per request: 15.70x"
)
OLDER = "INFO [kv_cache_utils.py] GPU KV cache size: 643,232 tokens"


def test_a_line_of_the_log_is_read() -> None:
    found = of_line(LINE)
    assert found is not None
    assert (found.tokens, found.context, found.concurrency, found.line) == (643_232, 40_960, 15.7, LINE)


def test_a_line_without_the_second_number_is_read() -> None:
    found = of_line(OLDER)
    assert found is not None
    assert (found.tokens, found.context, found.concurrency) == (643_232, None, None)


@pytest.mark.parametrize("line", ["", "KV cache size:  tokens", "Available KV cache memory: 3 GiB", "\t", "x" * 5000])
def test_other_lines_are_none(line: str) -> None:
    assert of_line(line) is None


@pytest.mark.parametrize(
    "line", ["KV cache size: , tokens", LINE.replace("15.70", "1.5.7"), LINE.replace("15.70", ".")]
)
def test_what_somebody_wrote_into_the_file_does_no_harm(line: str) -> None:
    for one in of_lines([line]):
        assert one.concurrency is None
        assert one.tokens >= 0


def test_what_is_kept_can_be_shown_and_has_an_end() -> None:
    written = kept(["\x1b[31m" + LINE + "\x07", "a" * 10_000, *["x"] * 1000])
    assert len(written) == MOST_LINES
    assert written[0] == "[31m" + LINE
    assert len(written[1]) == MOST_CHARACTERS


def test_predicted_against_actual() -> None:
    seen = of_lines([OLDER])
    assert against(643_232, at_most=False, seen=seen) == "643,232 tokens, as predicted"
    assert against(700_000, at_most=True, seen=seen) == "643,232 tokens, predicted at most 700,000 (-8.1 %)"
    assert against(None, at_most=False, seen=seen) == "643,232 tokens, nothing was predicted"
    assert against(5, at_most=False, seen=()) == ""


def test_what_the_stand_in_says_is_held_against_no_prediction() -> None:
    assert against(5, at_most=True, seen=of_lines([f"{LINE} (simulated)"])) == "643,232 tokens, simulated"


def test_several_engines_of_a_host() -> None:
    assert against(643_232, at_most=False, seen=of_lines([OLDER, OLDER])) == "2 x 643,232 tokens, as predicted"
    smaller = OLDER.replace("643,232", "643,000")
    shown = against(643_232, at_most=False, seen=of_lines([OLDER, smaller]))
    assert shown.startswith("2 x 643,000 to 643,232 tokens")
