"""What differs between two plans, and what that means."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_jsonable_python

from inventory.errors import BadInput
from launch.plans.compare import MEANS, differences, read, summary
from launch.plans.document import FORMAT_VERSION, KIND, LaunchPlan, Obstacle
from launch.vllm_args.parse import load
from tests.unit.launch.plans.planned import plan


def changed(before: LaunchPlan, after: LaunchPlan) -> dict[str, tuple[str, str, str]]:
    return {one.what: (one.before, one.after, one.means) for one in differences(before, after)}


def test_a_plan_and_itself() -> None:
    made = plan("deepseek-v4-pro", [4, 4])
    assert differences(made, made) == ()
    assert summary(()).startswith("no difference")


def test_another_variant_means_other_weights_and_another_number_of_tokens() -> None:
    found = changed(plan("deepseek-v4-pro", [4, 4]), plan("deepseek-v4-pro", [4, 4], variant="nvfp4"))
    assert found["variant"][:2] == ("default", "nvfp4")
    assert "every host downloads" in found["model"][2]
    before, after, means = found["KV tokens of all ranks"]
    assert int(before.replace(",", "")) > int(after.replace(",", ""))
    assert "fewer (-12%): fewer requests at once, or shorter ones" in means


def test_fewer_hosts_name_those_whose_ranks_must_be_stopped() -> None:
    found = changed(plan("gpt-oss-120b", [4, 4]), plan("gpt-oss-120b", [4, 4], nodes=1))
    assert found["host tray2"] == ("in the gang", "", "its ranks must be stopped: nothing does that by itself")
    assert found["nodes"][:2] == ("2", "1")
    assert found["strategy"][:2] == ("multi_node_dep", "single_node_tp")
    assert found["tray1 ranks"][2] == "caches are named by rank: they miss"


def test_an_option_and_a_variable_are_named_with_their_host() -> None:
    ours = plan("deepseek-v4-pro", [4, 4])
    theirs = plan("deepseek-v4-pro", [4, 4], setting="max-model-len=500000,max-num-seqs=64")
    found = changed(ours, theirs)
    assert found["every host option --max-model-len"] == ("1048576", "500000", "the longest request")
    assert found["every host option --max-num-seqs"][:2] == ("", "64")
    assert found["tokens of one request"][:2] == ("1,048,576", "500,000")
    env = replace(ours.hosts[0], env=(*ours.hosts[0].env, ("NCCL_DEBUG", "INFO")))
    assert changed(ours, replace(ours, hosts=(env, *ours.hosts[1:]))) == {"tray1 env NCCL_DEBUG": ("", "INFO", "")}


def test_an_option_with_several_values_is_one() -> None:
    ours = plan("deepseek-v4-pro", [4, 4])
    head = replace(ours.head, argv=(*ours.head.argv, "--numa-bind-nodes", "0", "0", "1", "1"))
    found = changed(ours, replace(ours, hosts=(head, *ours.hosts[1:])))
    assert found == {"tray1 option --numa-bind-nodes": ("", "0 0 1 1", "memory on other NUMA nodes")}


def test_ranks_on_other_hosts() -> None:
    ours = plan("deepseek-v4-pro", [4, 4])
    swapped = tuple(replace(host, name=name) for host, name in zip(ours.hosts, ("tray2", "tray1"), strict=True))
    found = changed(ours, replace(ours, hosts=swapped))
    assert found["head"][:2] == ("tray1", "tray2")
    assert found["tray1 ranks"][1].startswith("4 on GPU 0")


def write(path: Path, made: object, **head: object) -> Path:
    document = {"format_version": FORMAT_VERSION, "kind": KIND, "data": to_jsonable_python(made), **head}
    path.write_text(json.dumps(document))
    return path


def test_a_plan_is_read_from_its_file(tmp_path: Path) -> None:
    made = plan("deepseek-v4-pro", [4, 4])
    assert read(write(tmp_path / "a.json", made)) == made


@pytest.mark.parametrize("what", ["absent", "no json", "another kind", "another version", "a key is missing", "a list"])
def test_what_is_no_plan_is_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.json"
    made = plan("gpt-oss-120b", [4])
    if what == "no json":
        path.write_text("{")
    elif what == "another kind":
        write(path, made, kind="plan")
    elif what == "another version":
        write(path, made, format_version=99)
    elif what == "a key is missing":
        write(path, {"name": "x"})
    elif what == "a list":
        path.write_text("[]")
    with pytest.raises(BadInput) as caught:
        read(path)
    assert caught.value.id == "plan-file"
    assert "invoke plan" in caught.value.next_command


TRAYS = plan("deepseek-v4-pro", [4, 4])
OBSTACLE = Obstacle("image-only", "it runs from an image only", "", "", "")


def with_host(**changes: Any) -> LaunchPlan:  # noqa: ANN401  (fields of a host)
    return replace(TRAYS, hosts=(TRAYS.hosts[0], replace(TRAYS.hosts[1], **changes)))


@pytest.mark.parametrize(
    ("after", "what", "means"),
    [
        (with_host(urls=()), "tray2 endpoints", "clients"),
        (with_host(role="follower"), "tray2 role", "serves"),
        (with_host(clique="b/2"), "tray2 NVLink domain", "traffic"),
        (with_host(processes=replace(TRAYS.hosts[1].processes, workers=9)), "tray2 processes", "cores"),
        (with_host(gpus=(replace(TRAYS.hosts[1].gpus[0], rank=None, unused="MIG"),)), "tray2 unused GPUs", "no rank"),
        (replace(TRAYS, obstacles=(OBSTACLE,)), "obstacle image-only", "deploy refuses it"),
        (replace(TRAYS, left_out=(("tray3", "not needed"),)), "left out tray3", ""),
        (replace(TRAYS, inputs=replace(TRAYS.inputs, assumed=True)), "assumed", "none was"),
        (replace(TRAYS, inputs=replace(TRAYS.inputs, simulated=True)), "simulated", "made up"),
        (replace(TRAYS, layout=replace(TRAYS.layout, hardware="b200")), "hardware", "other GPUs"),
    ],
)
def test_every_kind_of_difference_is_told_with_its_meaning(after: LaunchPlan, what: str, means: str) -> None:
    found = changed(TRAYS, after)
    assert list(found) == [what]
    assert means in found[what][2]


def test_a_recipe_of_other_hardware_was_not_changed() -> None:
    other = replace(TRAYS, inputs=replace(TRAYS.inputs, recipe="0"))
    assert changed(TRAYS, other)["recipe"][2] == "the recipe's files were changed"
    other = replace(other, layout=replace(TRAYS.layout, hardware="b200"))
    assert "profile of other hardware" in changed(TRAYS, other)["recipe"][2]


def test_meanings_are_of_options_that_there_are() -> None:
    known = load("0.33.0")["flags"]
    assert all(flag in known for flag in MEANS)
