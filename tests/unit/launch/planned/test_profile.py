"""What each profile changes of our recipes, what it leaves alone and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.errors import BadInput, BringupError
from launch.choosing.decide import Decision
from launch.choosing.settings import settings
from launch.planned.profile import FEATURES, PROFILES, profile_named
from launch.planned.wanted import Wanted
from launch.request import Request
from launch.vllm_args import check, parse
from tests.unit.launch.gangs import facts, hosts
from tests.unit.launch.real_gangs import OURS, decided, reason, words

H200, GB200, B300 = ("NVIDIA H200", 8), ("NVIDIA GB200", 4), ("NVIDIA B300", 8)


def made(model: str, profile: str | None, kind: tuple[str, int] = H200, count: int = 1, **more: object) -> Decision:
    members = hosts(count)
    request = replace(Request(model=model), wanted=Wanted(profile=profile), **more)  # type: ignore[arg-type]
    return decided(request, members, facts(members, [kind[1]] * count, kind[0]))


def test_latency_is_the_handbooks_row() -> None:
    decision = made("glm-5", "latency")
    said = words(decision)
    assert "--max-num-batched-tokens 2048 --max-num-seqs 8" in said
    assert '--speculative-config {"method":"mtp","num_speculative_tokens":1}' in said
    assert "num_speculative_tokens 3" not in said
    assert "handbook, section 7" in {
        one.source.removeprefix("frontier deployment ") for one in decision.placement.reasons
    }


def test_latency_switches_on_the_drafting_that_the_recipe_has_and_keeps_its_number_where_it_is_trained() -> None:
    assert "speculative-config" not in words(made("deepseek-v4-pro", None))
    decision = made("deepseek-v4-pro", "latency")
    assert '"method":"dspark","num_speculative_tokens":5' in words(decision)
    assert "from training" in reason(decision, "--speculative-config by --profile")
    assert ": on:" in reason(decision, "spec_decoding by --profile")


def test_latency_without_drafting_where_the_operator_wants_none() -> None:
    decision = made("deepseek-v4-pro", "latency", no_features=("spec_decoding",))
    assert "speculative-config" not in words(decision)
    assert "left alone" in reason(decision, "spec_decoding by --profile")


def test_throughput_is_the_handbooks_row_and_warns_of_drafted_tokens() -> None:
    decision = made("glm-5", "throughput")
    said = words(decision)
    assert "--max-num-batched-tokens 16384 --max-num-seqs 512 --gpu-memory-utilization 0.95" in said
    assert "--max-cudagraph-capture-size 2048" in said
    (crowded,) = (one for one in decision.placement.reasons if one.decision == "drafted tokens")
    assert crowded.warns


def test_a_constraint_bounds_what_a_profile_asks_for() -> None:
    decision = made("qwen3.8-flash-next", "throughput", B300)
    assert "--max-num-seqs 256" in words(decision)
    said = reason(decision, "--max-num-seqs by --profile")
    assert "of the profile 512" in said


def test_what_the_recipe_says_for_this_very_hardware_stays() -> None:
    decision = made("kimi-k3", "throughput", H200, count=2)
    said = words(decision)
    assert "--max-num-seqs 5" in said
    assert "--gpu-memory-utilization 0.97" in said
    assert "--max-num-batched-tokens 4096" in said
    assert "says 0.97 for this hardware, variant or strategy" in reason(decision, "--gpu-memory-utilization by")


@pytest.mark.parametrize(
    ("model", "kind", "has", "said"),
    [
        ("deepseek-v4-pro", H200, "--max-model-len 800000", "for this hardware, variant or strategy"),
        ("deepseek-v4-pro", GB200, "--max-model-len 1048576", "as long already"),
        ("gpt-oss-120b", H200, "--max-model-len 131072", "context ends at 131072"),
        ("glm-5", H200, "--max-model-len 202752", "context ends at 202752"),
        ("glm-5.3", B300, "--max-model-len 1000000", "a million tokens"),
    ],
)
def test_long_context_ends_where_the_model_or_the_hardware_does(
    model: str, kind: tuple[str, int], has: str, said: str
) -> None:
    decision = made(model, "long-context", kind, count=2 if kind is GB200 else 1)
    assert has in words(decision)
    assert said in reason(decision, "--max-model-len by --profile")


def test_long_context_keeps_the_block_that_kernels_are_made_for() -> None:
    decision = made("deepseek-v4-pro", "long-context")
    assert "--block-size 256" in words(decision)
    assert "made for 256" in reason(decision, "--block-size by --profile")
    other = made("glm-5", "long-context")
    assert "--block-size 64" in words(other)
    assert "--kv-cache-dtype fp8" in words(other)
    assert "--enable-prefix-caching" in words(other)


def test_a_cache_that_is_quantised_already_stays() -> None:
    decision = made("glm-5.3", "long-context", B300)
    assert "as small already" in reason(decision, "--kv-cache-dtype by --profile")
    assert words(decision).count("--kv-cache-dtype") == 1


def test_agent_cuts_the_cache_over_gpus_where_the_recipe_can() -> None:
    decision = made("kimi-k3", "agent", B300)
    assert "--decode-context-parallel-size 8" in words(decision)
    assert "--enable-prefix-caching" in words(decision)
    assert "--set kv-offloading-size=GIB" in reason(decision, "KV cache in host memory")
    without = made("kimi-k3", "agent", H200, count=2)
    assert "decode-context-parallel" not in words(without)
    assert "left alone" in reason(without, "decode_context_parallel by --profile")


def test_mixed_schedules_by_priority() -> None:
    assert "--scheduling-policy priority --async-scheduling" in words(made("glm-5", "mixed"))


def test_what_was_typed_wins_over_the_profile_and_both_are_named() -> None:
    decision = made("glm-5", "latency", settings=settings("max-num-seqs=32"))
    assert "--max-num-seqs 32" in words(decision)
    assert words(decision).count("--max-num-seqs") == 1
    assert "--set max-num-seqs=32 was typed" in reason(decision, "--max-num-seqs by --profile latency")


def test_without_a_profile_nothing_of_one_is_there() -> None:
    decision = made("glm-5", None)
    assert "max-num-seqs" not in words(decision)
    assert not [one for one in decision.placement.reasons if "--profile" in one.decision]


def test_an_unknown_profile_names_those_that_exist() -> None:
    with pytest.raises(BadInput, match="no profile fast") as caught:
        profile_named("fast")
    assert "long-context" in caught.value.required
    assert profile_named("") is None


def test_every_profile_on_every_recipe_is_taken_by_its_vllm_and_says_why() -> None:
    kinds = {"h200": H200, "b300": B300}
    tried = 0
    for id_ in OURS.ids():
        recipe = OURS.find(id_).recipe
        for kind in (kind for name, kind in kinds.items() if recipe.meta.hardware.get(name) == "documented"):
            for profile in PROFILES:
                try:
                    decision = made(id_, profile, kind)
                except BringupError:  # this hardware does not hold it, which other tests are about
                    continue
                tried += 1
                for command in decision.commands:
                    assert check(command.argv[1:], dict(command.env), decision.choice.vllm) == (), (id_, profile)
                    assert not parse(command.argv[1:], decision.choice.vllm).refusals
                about = [one.decision for one in decision.placement.reasons if f"--profile {profile}" in one.decision]
                assert len(about) >= len(PROFILES[profile]) + len(FEATURES.get(profile, ()))
    assert tried > 20
