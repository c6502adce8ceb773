"""Flags of single settings: what they become, what is refused, and what they contradict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.errors import BadInput
from launch.choosing.decide import Decision
from launch.choosing.settings import settings
from launch.planned.typed import Flags, typed_settings, yes_or_no
from launch.planned.wanted import Wanted
from launch.request import Request
from launch.vllm_args import check
from tests.unit.launch.gangs import facts, hosts
from tests.unit.launch.real_gangs import decided, reason, words


def made(model: str, flags: Flags, *, set_: str = "", wanted: Wanted | None = None, **more: object) -> Decision:
    members = hosts(1)
    request = Request(model=model, settings=(*typed_settings(flags), *settings(set_)), wanted=wanted or Wanted())
    return decided(replace(request, **more), members, facts(members, [8], "NVIDIA H200"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (Flags(kv_cache_dtype="fp8_e4m3"), "--kv-cache-dtype fp8_e4m3"),
        (Flags(prefix_hash="sha256_cbor"), "--prefix-caching-hash-algo sha256_cbor"),
        (Flags(scheduling="priority"), "--scheduling-policy priority"),
        (Flags(media_domains="a.example, B.example"), "--allowed-media-domains a.example b.example"),
        (Flags(trust_remote_code="yes"), "--trust-remote-code"),
        (Flags(trust_remote_code="no"), "--no-trust-remote-code"),
        (
            Flags(lora="coder=/data/coder,sql=/data/sql", max_lora_rank="64"),
            "--enable-lora --lora-modules coder=/data/coder sql=/data/sql --max-loras 2 --max-lora-rank 64",
        ),
        (Flags(lora_loading="dynamic"), "--enable-lora"),
    ],
)
def test_a_flag_becomes_options_that_the_pinned_version_takes_with_a_reason(flags: Flags, expected: str) -> None:
    decision = made("glm-5", flags)
    assert expected in words(decision)
    assert check(decision.commands[0].argv[1:], dict(decision.commands[0].env), "0.33.0") == ()
    for one in typed_settings(flags):
        assert one.why in reason(decision, "option")
        assert str(one).startswith("--")


def test_nothing_typed_is_nothing_set() -> None:
    assert typed_settings(Flags()) == ()
    assert typed_settings(Flags(lora_loading="static")) == ()


@pytest.mark.parametrize(
    "flags",
    [
        Flags(kv_cache_dtype="fp8; rm"),
        Flags(quantization="--x"),
        Flags(prefix_hash="md5"),
        Flags(scheduling="fair"),
        Flags(media_domains="https://a.example"),
        Flags(media_domains="a.example:80"),
        Flags(media_domains="-a.example"),
        Flags(trust_remote_code="perhaps"),
        Flags(lora="coder"),
        Flags(lora="coder=relative/path"),
        Flags(lora="a/b=/data/x"),
        Flags(lora="a=/data/with space"),
        Flags(lora="a=/data/../etc"),
        Flags(lora="a=/data/x", max_lora_rank="24"),
        Flags(max_lora_rank="16"),
        Flags(lora_loading="sometimes"),
    ],
)
def test_what_cannot_be_meant_is_refused(flags: Flags) -> None:
    with pytest.raises(BadInput) as caught:
        typed_settings(flags)
    assert caught.value.exit_code == 2
    assert caught.value.observed.startswith("--")
    assert caught.value.required
    assert caught.value.next_command


def test_two_adapters_of_one_name_name_both() -> None:
    with pytest.raises(BadInput) as caught:
        typed_settings(Flags(lora="a=/x,a=/y"))
    assert "a=/x" in caught.value.observed
    assert "a=/y" in caught.value.observed


@pytest.mark.parametrize(
    ("model", "flags", "set_", "named"),
    [
        ("glm-5", Flags(kv_cache_dtype="fp8"), "kv-cache-dtype=auto", ("--kv-cache-dtype fp8", "kv-cache-dtype=auto")),
        ("glm-5", Flags(quantization="mxfp8"), "", ("--quantization mxfp8", "variant default in fp8", "recipe")),
        ("glm-5", Flags(lora="glm-5=/data/x"), "", ("--lora glm-5=/data/x", "the name of the model itself")),
        ("glm-5", Flags(kv_cache_dtype="fp9"), "", ("--kv-cache-dtype fp9", "vLLM 0.33.0")),
        (
            "glm-5",
            Flags(lora_loading="dynamic"),
            "api-server-count=4",
            ("--lora-loading dynamic", "api-server-count=4"),
        ),
    ],
)
def test_a_contradiction_names_both_sides_and_where_they_come_from(
    model: str, flags: Flags, set_: str, named: tuple[str, ...]
) -> None:
    with pytest.raises(BadInput) as caught:
        made(model, flags, set_=set_)
    assert caught.value.id == "override-contradicts"
    assert [one for one in named if one not in f"{caught.value} {caught.value.observed}"] == []
    assert len(caught.value.message) < 120, "what is allowed in its place is no part of the title"


def test_quantising_a_checkpoint_in_sixteen_bits_is_fine() -> None:
    assert "--quantization fp8_per_tensor" in words(
        made("qwen3.5", Flags(quantization="fp8_per_tensor"), variant="bf16")
    )


def test_the_name_of_the_deployment_counts_for_adapters() -> None:
    assert "glm-5=/data/x" in words(made("glm-5", Flags(lora="glm-5=/data/x"), name="other"))
    with pytest.raises(BadInput):
        made("glm-5", Flags(lora="other=/data/x"), name="other")


def test_adapters_that_come_later_have_one_api_server_and_a_warning_without_a_key() -> None:
    decision = made("deepseek-v4-pro", Flags(lora_loading="dynamic"), wanted=Wanted(lora_dynamic=True))
    assert dict(decision.commands[0].env)["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "1"
    assert "--api-server-count 1" in words(decision)
    assert [one.warns for one in decision.placement.reasons if one.decision == "--lora-loading"] == [True]
    without = made("deepseek-v4-pro", Flags(lora="a=/data/a"))
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING" not in dict(without.commands[0].env)


def test_a_flag_wins_over_the_recipe_and_the_profile() -> None:
    decision = made("glm-5", Flags(kv_cache_dtype="bfloat16"), wanted=Wanted(profile="long-context"))
    assert "--kv-cache-dtype bfloat16" in words(decision)
    assert words(decision).count("--kv-cache-dtype") == 1
    assert "--kv-cache-dtype bfloat16 was typed" in reason(decision, "--kv-cache-dtype by --profile")


@pytest.mark.parametrize(("value", "meant"), [("yes", True), ("on", True), ("NO", False), ("", None)])
def test_yes_and_no(value: str, meant: bool | None) -> None:  # noqa: FBT001
    assert yes_or_no("pinning", value) is meant


@pytest.mark.parametrize(
    "option", ["numa-bind-nodes=0 1", "numa-bind=false", "numa_bind_cpus=0-3", "api-key=hush", "hf_token=hush"]
)
def test_what_the_plan_writes_itself_is_refused_in_set(option: str) -> None:
    with pytest.raises(BadInput) as caught:
        made("glm-5", Flags(), set_=option)
    assert caught.value.id == "override-contradicts"
    assert "--pinning" in caught.value.observed or "command line" in caught.value.observed
    assert "hush" not in f"{caught.value} {caught.value.observed} {caught.value.next_command}"
