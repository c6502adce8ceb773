from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.errors import BadInput, CheckFailed
from inventory.facts.host import HostFacts
from inventory.schema import Host, Mirrors
from inventory.secret import Url
from launch.building.assemble import assemble
from launch.building.engine import engines_of, weights_commit
from launch.catalogue.find import Catalogue
from launch.choosing.decide import choose, decide
from launch.request import Request
from tests.unit.launch.gangs import facts, gpu, gpus, hosts

CATALOGUE = Catalogue.of()


def amd(count: int) -> tuple[list[Host], dict[str, HostFacts]]:
    trays = hosts(1)
    devices = tuple(gpu(i, name="AMD Instinct MI355X") for i in range(count))
    seen = facts(trays, [count])
    return trays, {"tray1": replace(seen["tray1"], gpus=replace(gpus(count), vendor="amd", devices=devices))}


@pytest.mark.parametrize("model", ["minimax-m3", "deepseek-v4-pro"])
def test_gpus_that_no_wheels_are_locked_for_run_an_image(model: str) -> None:
    trays, seen = amd(8)
    choice = choose(CATALOGUE.find(model), Request(model), trays, seen)
    engine = engines_of(choice, trays, seen, served_name="m")["tray1"]
    assert engine.image is not None
    assert engine.wanted is None, "nothing is installed on the host"
    assert "rocm" in str(engine.image.reference)
    assert not engine.image.reference.moves, "a tag that moves is no release"
    if model == "deepseek-v4-pro":
        assert str(engine.image.reference) == f"vllm/vllm-openai-rocm:v{choice.vllm}"


def test_weights_that_are_made_here_have_a_commit_of_what_makes_them() -> None:
    trays = hosts(1)
    seen = facts(trays, [0])
    dense, moe = (choose(CATALOGUE.find(name), Request(name), trays, seen) for name in ("tiny-dense", "tiny-moe"))
    assert len(weights_commit(dense)) == 40
    assert weights_commit(dense) == weights_commit(dense) != weights_commit(moe)


def test_a_checkpoint_without_a_pinned_commit_is_refused() -> None:
    trays = hosts(2)
    seen = facts(trays, [4, 4])
    choice = choose(CATALOGUE.find("deepseek-v4-pro"), Request("deepseek-v4-pro", variant="nvfp4"), trays, seen)
    with pytest.raises(BadInput, match="no commit is pinned"):
        weights_commit(choice)


def test_mirrors_of_the_inventory_reach_the_steps() -> None:
    mirrors = Mirrors(hub=Url("https://hub.example/hf"), pypi=Url("https://user:secret@index.example/simple"))
    trays = [Host(name="tray1", address="10.1.0.1", mirrors=mirrors)]
    seen = facts(trays, [4])
    choice = choose(CATALOGUE.find("gpt-oss-120b"), Request("gpt-oss-120b"), trays, seen)
    scripts = "\n".join(step.script for step in engines_of(choice, trays, seen, served_name="m")["tray1"].steps)
    assert "index=https://user:secret@index.example/simple" in scripts


def test_the_driver_is_asked_for_the_cuda_that_the_wheels_are_built_for() -> None:
    trays = hosts(1)
    seen = facts(trays, [4])
    request = Request("gpt-oss-120b")
    choice = choose(CATALOGUE.find("gpt-oss-120b"), request, trays, seen)
    engines = engines_of(choice, trays, seen, served_name="m")
    decision = decide(choice, request, seen, {host: one.program for host, one in engines.items()})
    needs = assemble(decision, "m", trays, seen, engines).needs
    assert [one.gpu_runtime for one in needs.hosts] == ["13.0"]


def test_a_layout_for_one_host_is_refused_on_two() -> None:
    trays = hosts(2)
    request = Request("gpt-oss-120b", strategy="single_node_tp")
    with pytest.raises(BadInput, match="layout for one host"):
        choose(CATALOGUE.find("gpt-oss-120b"), request, trays, facts(trays, [4, 4]))


def test_hardware_that_the_taxonomy_does_not_have_is_named() -> None:
    name = "NVIDIA Titan of tomorrow"
    trays = hosts(1)
    seen = facts(trays, [1])
    seen["tray1"] = replace(seen["tray1"], gpus=replace(gpus(1), devices=(gpu(0, name=name),)))
    with pytest.raises(CheckFailed, match="hardware of the host is not known") as caught:
        choose(CATALOGUE.find("gpt-oss-120b"), Request("gpt-oss-120b"), trays, seen)
    assert caught.value.observed == name
