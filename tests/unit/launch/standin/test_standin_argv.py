from __future__ import annotations

import pytest

from launch.standin.argv import Options, options

VERSION = "0.33.0"


def read(*words: str, **env: str) -> Options:
    return options(list(words), env, VERSION)


def test_values_and_defaults_by_vllms_names() -> None:
    given = read("/m", "--data-parallel-size", "8", "-tp", "2", "--headless", "--served-model-name", "a", "b")
    assert given.model == "/m"
    assert given.number("data_parallel_size") == 8
    assert given.number("tensor_parallel_size") == 2
    assert given.text("all2all_backend") == "allgather_reducescatter"
    assert given.on("headless")
    assert not given.on("enable_expert_parallel")
    assert given.texts("served_model_name") == ["a", "b"]
    assert given.optional("data_parallel_start_rank") is None


def test_an_option_that_is_given_twice_is_taken_as_vllm_takes_it() -> None:
    assert read("/m", "--port", "1", "--port", "2").number("port") == 2


def test_secrets_are_starred() -> None:
    shown = read("/m", "--api-key", "s3cret", "--max-model-len", "8K").non_default()
    assert "s3cret" not in str(shown)
    assert shown["max_model_len"] == 8192


def test_environment_variables_that_nothing_reads_are_named() -> None:
    assert read("/m", VLLM_DSV4_MEGA_FP8_COMBINE="1", VLLM_HOST_IP="1.2.3.4").unread_env == [
        "VLLM_DSV4_MEGA_FP8_COMBINE"
    ]


def test_a_name_that_vllm_refuses_later_is_kept_for_later() -> None:
    later = read("/m", "--tokenizer-mode", "glm5_next").refused_later
    assert later is not None
    assert "glm5_next" in str(later)
    assert read("/m").refused_later is None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--modle", "x"], "vllm: error: unrecognized arguments: --modle"),
        (["--port"], "argument --port: expected at least one argument"),
        (["--port", "abc"], "argument --port: invalid value: 'abc'"),
        (["--load-format-x=1"], "unrecognized arguments: --load-format-x"),
        (["--compilation-config", "{"], "argument --compilation-config: Value { cannot be converted to"),
    ],
)
def test_refusals_in_argparses_words(words: list[str], text: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read("/m", *words)
    assert ended.value.code == 2
    assert text in capfd.readouterr().err
