"""What checks are told of a decision: of a real recipe on two invented trays, and of the trial model."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import pytest

from inventory.facts.host import HostFacts, RdmaDevice, RdmaPort
from launch.building.assemble import assemble
from launch.building.engine import engines_of
from launch.building.plan_parts import support_of, talks_mnnvl, talks_rdma
from launch.catalogue.find import Catalogue
from launch.choosing.decide import Decision, choose, decide
from launch.request import Request
from playbooks.argv import options
from playbooks.requirements import Requirements
from tests.unit.launch import gangs

Told: TypeAlias = tuple[Decision, Requirements, dict[str, HostFacts]]
ACTIVE = (RdmaDevice("mlx5_0", ports=(RdmaPort(1, state="4: ACTIVE", link_layer="InfiniBand"),)),)


def decided(model: str, hosts: int, gpus: int) -> Told:
    all_hosts = gangs.hosts(hosts)
    facts = gangs.facts(all_hosts, [gpus] * hosts)
    request = Request(model=model)
    found = Catalogue.of().find(model)
    choice = choose(found, request, all_hosts, facts)
    engines = engines_of(choice, all_hosts, facts, served_name="v4")
    decision = decide(choice, request, facts, {host: one.program for host, one in engines.items()})
    return decision, assemble(decision, "v4", all_hosts, facts, engines).needs, facts


@pytest.fixture(scope="module")
def trays() -> Told:
    return decided("deepseek-v4-pro", 2, 4)


def test_a_real_recipe_is_told_in_full(trays: Told) -> None:
    _, needs, _ = trays
    assert (needs.name, needs.hardware, needs.shutdown_timeout_s) == ("v4", "gb200", 0)
    assert needs.model.id == "deepseek-ai/DeepSeek-V4-Pro-0813"
    assert (needs.model.minimum_vllm, needs.model.vram_minimum_gb) == ("0.25.0", 960)
    assert (needs.model.hardware_support, needs.model.tokenizer_mode) == ("supported", "deepseek_v4")
    assert needs.model.parsers == ("--tool-call-parser deepseek_v4", "--reasoning-parser deepseek_v4")
    assert (needs.layout.nodes, needs.layout.data_parallel, needs.layout.tensor_parallel) == (2, 8, 1)
    assert (needs.layout.moe, needs.layout.expert_parallel) == (True, True)
    assert needs.container is None


def test_a_host_is_told_its_whole_command(trays: Told) -> None:
    decision, needs, _ = trays
    for command in decision.commands:
        host = needs.of(command.host)
        assert (host.argv, host.env) == (command.argv, command.env)
        assert host.numa_bind == ("--numa-bind" in command.argv)
        assert host.gpu_memory_utilization == 0.92  # vLLM's own default
        assert host.weights is not None
        assert host.weights.path == command.argv[2]
        assert host.weights.commit == needs.model.revision == "72e1d3230f6c080a530b0a1d46f8eb4602340597"


def test_the_build_is_that_of_the_lock(trays: Told) -> None:
    _, needs, _ = trays
    packages = dict(needs.build.packages)
    assert (packages["vllm"], packages["torch"]) == ("0.33.0", "2.14.0")
    assert needs.build.python == ">=3.11,<3.14"
    assert needs.build.platforms == ("x86_64", "aarch64")
    assert "10.0" in (needs.build.architectures or ())


def test_the_trial_model_on_one_host_tells_what_it_has() -> None:
    _, needs, _ = decided("tiny-dense", 1, 0)
    (host,) = needs.hosts
    assert (needs.rdma, needs.mnnvl, needs.layout.load_balancing) == (False, False, None)
    assert (needs.layout.moe, needs.model.vram_minimum_gb, host.gpu_memory_utilization) == (False, None, None)
    assert dict(needs.build.packages)["torch"] == "2.13.0+cpu"
    assert (needs.build.architectures, host.numa_bind) == (None, False)


def with_rdma(facts: dict[str, HostFacts], *hosts: str) -> dict[str, HostFacts]:
    return {host: replace(one, rdma=ACTIVE) if host in hosts else one for host, one in facts.items()}


def test_ranks_talk_rdma_where_every_host_has_an_active_port(
    trays: Told,
) -> None:
    decision, needs, facts = trays
    assert needs.rdma is None
    assert talks_rdma(decision, with_rdma(facts, "tray1")) is None
    assert talks_rdma(decision, with_rdma(facts, "tray1", "tray2")) is True
    made_up = {host: replace(one, simulated=True) for host, one in with_rdma(facts, "tray1", "tray2").items()}
    assert talks_rdma(decision, made_up) is False


@pytest.mark.parametrize(
    ("variable", "expected"),
    [(("NCCL_IB_DISABLE", "1"), False), (("NCCL_NET", "Socket"), False), (("NCCL_IB_HCA", "mlx5"), True)],
)
def test_the_environment_decides_about_rdma(trays: Told, variable: tuple[str, str], *, expected: bool) -> None:
    decision, _, facts = trays
    commands = tuple(replace(one, env=(*one.env, variable)) for one in decision.commands)
    assert talks_rdma(replace(decision, commands=commands), facts) is expected


def test_trays_talk_over_nvlink_unless_told_not_to(
    trays: Told,
) -> None:
    decision, needs, facts = trays
    assert needs.mnnvl is True
    off = tuple(replace(one, env=(*one.env, ("NCCL_MNNVL_ENABLE", "0"))) for one in decision.commands)
    assert talks_mnnvl(replace(decision, commands=off), facts) is False


@pytest.mark.parametrize(
    ("told", "hardware", "expected"),
    [
        ({}, "gb200", None),
        ({"h200": "verified"}, "h200", "verified"),
        ({"h200": "documented"}, "h200", "supported"),
        ({"mi300x": "unsupported"}, "mi300x", "unsupported"),
        ({"h200": "verified"}, "l4", "unlisted"),
        ({"h200": "verified"}, "cpu", None),
    ],
)
def test_the_word_for_a_hardware(told: dict[str, str], hardware: str, expected: str | None) -> None:
    assert support_of(told, hardware) == expected


def test_an_option_of_a_recipe_is_read_in_both_spellings() -> None:
    assert options(["--a", "1", "--b", "2"]).get("--b") == "2"
    assert options(["--a", "1", "--b=3"]).get("--b") == "3"
    assert options(["--a"]).get("--b") is None
