from __future__ import annotations

import shlex

import pytest

from launch.vllm_args import check
from launch.vllm_args.translations import Rule, rules, translate

V33 = "0.33.0"
CASES = [(version, rule) for version in ("0.32.0", V33) for rule in rules(version)]


def written(rule: Rule) -> tuple[list[str], dict[str, str]]:
    """A command that has what the rule is for, with some value where it is for any."""
    name, key, value = rule.form
    if rule.is_env:
        return ["m"], {name: value or "1"}
    if "plugin" in name:
        return ["m", rule.source, "/srv/parser.py", "--tool-call-parser", "mine"], {}
    return ["m", *rule.source.split(), *(["true"] if key and value is None else [])], {}


@pytest.mark.parametrize(("version", "rule"), CASES, ids=lambda one: one if isinstance(one, str) else one.source)
def test_each_rule_is_for_what_the_version_refuses_and_leads_to_what_it_takes(version: str, rule: Rule) -> None:
    argv, env = written(rule)
    assert check(argv, env, version)
    after = translate(argv, env, version)
    assert check(after.argv, after.env, version) == ()
    assert after.notes == (str(rule),)
    assert rule.evidence


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '--attention-config \'{"use_fp4_indexer_cache":true,"backend":"FLASHINFER_MLA"}\'',
            '--attention-config \'{"backend":"FLASHINFER_MLA","indexer_kv_dtype":"mxfp4"}\'',
        ),
        ("--attention_config.use_fp4_indexer_cache true -O3", "--attention-config.indexer_kv_dtype mxfp4 -O3"),
        ("-ac.use_fp4_indexer_cache=True", "--attention-config.indexer_kv_dtype mxfp4"),
        ("--attention-config '{\"use_fp4_indexer_cache\":false}' -tp 2", "-tp 2"),
        ('--compilation-config \'{"use_inductor":false,"mode":3}\'', "--compilation-config '{\"mode\":3}'"),
        ("--tokenizer-mode=glm5_next", "--tokenizer-mode auto"),
        ("--tool_call_parser_plugin /p.py", "--tool-parser-plugin /p.py"),
    ],
)
def test_every_spelling_of_an_option_is_found(before: str, after: str) -> None:
    assert list(translate(["m", *shlex.split(before)], {}, V33).argv) == ["m", *shlex.split(after)]


@pytest.mark.parametrize(
    "words",
    [
        "--tokenizer-mode deepseek_v4",
        '--attention-config \'{"backend":"FLASHINFER_MLA"}\'',
        "--attention-config not-json",
        "--compilation-config 3",
        "--all2all-backend mori",  # two names are possible
        "--max-model-len -1",
    ],
)
def test_all_else_stays_as_it_is(words: str) -> None:
    argv = ["vllm", "serve", "m", *shlex.split(words)]
    after = translate(argv, {"NCCL_DEBUG": "INFO"}, V33)
    assert (list(after.argv), after.env, after.notes) == (argv, {"NCCL_DEBUG": "INFO"}, ())


def test_what_has_no_single_translation_is_refused_with_the_nearest_names() -> None:
    (refusal,) = check(["m", "--all2all-backend", "mori"], {}, V33)
    assert refusal.nearest == "--all2all-backend mori_high_throughput or mori_low_latency"


def test_a_variable_that_became_an_option_yields_to_the_option() -> None:
    name = "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"
    said = ["m", "--moe-backend", "triton"]
    assert translate(said, {name: "1"}, V33).argv == tuple(said)
    off = translate(["m"], {name: "0"}, V33)
    assert off.argv == ("m",)
    assert off.notes == (f"{name}: vLLM {V33} does not read this environment variable",)


def test_an_unread_variable_stays_and_is_noted() -> None:
    after = translate(["m"], {"VLLM_NO_SUCH": "1"}, V33)
    assert after.env == {"VLLM_NO_SUCH": "1"}
    assert "VLLM_NO_SUCH" in after.notes[0]
