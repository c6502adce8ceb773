from __future__ import annotations

import pytest

from launch.vllm_args import Kind, UnknownVersion, parse
from launch.vllm_args.parse import Refusal, after_serve, load

V33, V32 = "0.33.0", "0.32.0"


def kinds(words: str | list[str], version: str = V33) -> list[tuple[Kind, str]]:
    argv = words.split() if isinstance(words, str) else words
    return [(one.kind, one.nearest) for one in parse(["vllm", "serve", "org/m", *argv], version).refusals]


def test_values_are_converted_as_vllm_does() -> None:
    words = "--tensor-parallel-size 8 --gpu_memory_utilization=0.9 --max-model-len 800K --enable-expert-parallel"
    words += " --no-enable-prefix-caching --numa-bind-nodes 0 0 1 1 --served-model-name a b"
    parsed = parse(["vllm", "serve", "org/m", *words.split()], V33)
    assert parsed.model == "org/m"
    assert parsed.values == {
        "tensor_parallel_size": 8,
        "gpu_memory_utilization": 0.9,
        "max_model_len": 800 * 1024,
        "enable_expert_parallel": True,
        "enable_prefix_caching": False,
        "numa_bind_nodes": [0, 0, 1, 1],
        "served_model_name": ["a", "b"],
    }
    assert parsed.refusals == ()


@pytest.mark.parametrize(
    ("word", "value"),
    [("1k", 1000), ("1K", 1024), ("25.6k", 25600), ("2M", 2 << 20), ("auto", -1), ("-1", -1), ("7", 7)],
)
def test_sizes_and_auto(word: str, value: int) -> None:
    assert parse(["m", "--max-model-len", word], V33).values["max_model_len"] == value


def test_what_was_not_given_has_vllms_default() -> None:
    parsed = parse(["m"], V33)
    assert (parsed.get("port"), parsed.get("data_parallel_size"), parsed.get("enable_eplb")) == (8000, 1, None)


def test_dotted_keys_make_one_json_value() -> None:
    words = ["m", "--attention_config.backend", "FLASHINFER", "--attention-config.use_trtllm_attention=true"]
    parsed = parse(words, V33)
    assert parsed.values["attention_config"] == {"backend": "FLASHINFER", "use_trtllm_attention": True}
    assert parsed.refusals == ()


def test_dotted_key_with_plus_appends_to_a_list() -> None:
    words = ["m", "-cc.custom_ops+", "+rms_norm,-silu", "-cc.custom_ops+=none"]
    assert parse(words, V33).values["compilation_config"] == {"custom_ops": ["+rms_norm", "-silu", "none"]}


def test_optimization_level_is_written_without_a_space() -> None:
    assert parse(["m", "-O3"], V33).values["optimization_level"] == "3"
    assert parse(["m", "-O", "1"], V33).values["optimization_level"] == "1"


def test_json_numbers_may_carry_a_size_suffix() -> None:
    words = ["m", "--kv-transfer-config", '{"kv_connector":"OffloadingConnector","kv_port":1k}']
    assert parse(words, V33).values["kv_transfer_config"]["kv_port"] == 1000


def test_a_negative_number_or_a_text_with_a_space_is_a_value() -> None:
    parsed = parse(["m", "--max-logprobs", "-1", "--chat-template", "-{{ x }} y"], V33)
    assert parsed.values == {"max_logprobs": -1, "chat_template": "-{{ x }} y"}


def test_the_deprecated_model_option_is_the_model() -> None:
    assert parse(["serve", "--model", "org/m", "--port", "1"], V33).model == "org/m"


@pytest.mark.parametrize(
    ("argv", "rest"),
    [
        (["vllm", "serve", "m"], ["m"]),
        (["/envs/1/bin/vllm", "serve", "m"], ["m"]),
        (["python3", "-m", "vllm.entrypoints.cli.main", "serve", "m"], ["m"]),
        (["m", "--served-model-name", "serve"], ["m", "--served-model-name", "serve"]),
        ([], []),
    ],
)
def test_words_before_the_options(argv: list[str], rest: list[str]) -> None:
    assert after_serve(argv) == rest


@pytest.mark.parametrize(
    ("words", "kind", "nearest"),
    [
        ("--max-model-length 1", Kind.UNKNOWN_FLAG, "--max-model-len"),
        ("--tool-call-parser-plugin p", Kind.UNKNOWN_FLAG, "--tool-parser-plugin"),
        ("--tensor-paralel-size 2", Kind.UNKNOWN_FLAG, "--tensor-parallel-size"),
        ("--kv-cache-memory 40G", Kind.ABBREVIATION, "--kv-cache-memory-bytes"),
        ("--port", Kind.MISSING_VALUE, "--port 8000"),
        ("--attention-config.backend", Kind.MISSING_VALUE, ""),
        ("stray", Kind.UNEXPECTED, ""),
        ("--enforce-eager=true", Kind.UNEXPECTED, "--enforce-eager"),
        ("--port abc", Kind.BAD_TYPE, "--port 8000"),
        ("--gpu-memory-utilization 1.5", Kind.BAD_TYPE, ""),
        ("--tensor-parallel-size 0", Kind.BAD_TYPE, ""),
        ("--max-num-batched-tokens 1.5K", Kind.BAD_TYPE, "--max-num-batched-tokens 8192"),
        ("--moe-backend deep_gemm_amxf4_mega_moe", Kind.BAD_CHOICE, "--moe-backend deep_gemm_mega_moe"),
        (
            "--all2all-backend mori",
            Kind.BAD_CHOICE,
            "--all2all-backend mori_high_throughput or mori_low_latency",
        ),
        ("--max-lora-rank 12", Kind.BAD_CHOICE, "--max-lora-rank 128"),
        ("--tensor-parallel-size 2 -tp 2", Kind.DUPLICATE, "--tensor-parallel-size"),
        ("--port 1 --port 2", Kind.DUPLICATE, "--port"),
        ("--enable-prefix-caching --no-enable-prefix-caching", Kind.DUPLICATE, "--enable-prefix-caching"),
        ("--compilation-config {} -cc.mode=none", Kind.DUPLICATE, "--compilation-config"),
        ("-cc.mode=none --compilation-config.mode=none", Kind.DUPLICATE, "--compilation-config"),
        ("-cc.mode=none -cc.mode=0", Kind.DUPLICATE, "-cc.mode"),
        ("--port.x 1", Kind.UNKNOWN_KEY, "--port"),
    ],
)
def test_refused_with_the_nearest_valid_form(words: str, kind: Kind, nearest: str) -> None:
    assert (kind, nearest) in kinds(words)
    assert len(kinds(words)) == 1


@pytest.mark.parametrize("text", ["{", "[1]", '{"a":}', "plain"])
def test_bad_json(text: str) -> None:
    assert [kind for kind, _ in kinds(["--compilation-config", text])] == [Kind.BAD_JSON]


def test_folded_choices_may_be_written_with_dashes_and_capitals() -> None:
    assert kinds("--moe-backend FlashInfer-TRTLLM") == []
    assert kinds("--moe-backend=deep-gemm") == []


def test_a_flag_may_be_repeated_where_vllm_collects_it() -> None:
    assert parse(["m", "--middleware", "a", "--middleware", "b"], V33).values["middleware"] == ["a", "b"]


def test_versions_differ() -> None:
    assert kinds("--disable-flashinfer-autotune", V33) == []
    assert kinds("--disable-flashinfer-autotune", V32) == [
        (Kind.UNKNOWN_FLAG, "--enable-flashinfer-autotune"),
    ]
    assert kinds("--monokernel", V32)[0][0] is Kind.UNKNOWN_FLAG


def test_a_local_version_part_is_ignored_and_an_unknown_version_says_which_there_are() -> None:
    assert load("0.32.0+cpu") is not None
    with pytest.raises(UnknownVersion, match=r"0\.34\.0.*0\.32\.0, 0\.33\.0"):
        parse(["m"], "0.34.0")


def test_one_wrong_flag_does_not_hide_the_next() -> None:
    parsed = parse(["m", "--nope", "1", "--port", "x", "--alsonope"], V33)
    assert [one.token for one in parsed.refusals] == ["--nope", "--port x", "--alsonope"]


def test_a_refusal_reads_as_one_line() -> None:
    text = str(Refusal(Kind.UNKNOWN_FLAG, "--nope", "not an option", "--node"))
    assert text == "--nope: not an option; nearest valid form: --node"
