"""Files for people: scripts that are what a deploy would start, and compose files of pinned images."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.errors import BadInput
from launch.choosing.outline import outline
from launch.plans.assumed import assumed
from launch.plans.document import LaunchPlan
from launch.plans.files import bundle, compose_files, scripts
from launch.plans.make import plan_of
from launch.request import Request
from tests.unit.launch.plans.planned import OURS, plan

ECHO = """#!/bin/sh
env -0 | sort -z
printf '%s\\0' "$0" "$@"
"""


def test_a_script_becomes_exactly_the_planned_command(tmp_path: Path) -> None:
    made = plan("deepseek-v4-pro", [4, 4])
    program = tmp_path / "vllm with 'quotes'"
    program.write_text(ECHO)
    program.chmod(0o755)
    odd = (*made.head.env, ("ODD", "$(touch hacked) `x` \"'\n;"))
    head = replace(made.head, argv=(str(program), *made.head.argv[1:]), env=odd)
    name, text = next(scripts(replace(made, hosts=(head, *made.hosts[1:]))))
    assert name == "deepseek-v4-pro-0-tray1.sh"
    done = subprocess.run(["sh", "-c", text], capture_output=True, cwd=tmp_path, env={"LEAKED": "1", **os.environ})  # noqa: PLW1510
    words = done.stdout.decode().split("\0")[:-1]
    env = dict(word.partition("=")[::2] for word in words[: -len(head.argv)])
    assert words[-len(head.argv) :] == list(head.argv)
    assert {key: value for key, value in env.items() if key not in {"PWD", "SHLVL", "_"}} == dict(odd)
    assert not (tmp_path / "hacked").exists()


def test_scripts_say_what_they_are_and_what_they_need() -> None:
    texts = [text for _, text in scripts(plan("deepseek-v4-pro", [4, 4]))]
    assert "# deepseek-v4-pro: tray2, node 1 of 2; plan " in texts[1]
    assert "Start all hosts within five minutes of each other" in texts[0]
    (text,) = (text for _, text in scripts(plan("glm-5", [4])))
    assert "bringup installs nothing for it: /usr/local/bin/vllm must be vLLM 0.33.0." in text
    assert "Not by bringup: no commit is pinned" in text


def test_compose_has_the_same_words_and_variables() -> None:
    made = plan("minimax-m3", [8], "AMD Instinct MI355X")
    ((name, text),) = compose_files(made)
    assert name == "minimax-m3-0-tray1.compose.yaml"
    service = json.loads(text)["services"]["vllm"]
    assert service["image"] == "vllm/vllm-openai-rocm:minimax-m3"
    assert service["command"] == list(made.head.argv[2:])
    assert service["environment"] == {key: value for key, value in made.head.env if key != "PATH"}
    assert service["devices"] == ["/dev/kfd", "/dev/dri"]
    assert service["volumes"][0].count(made.head.argv[2]) == 2


def test_compose_of_a_day_0_image_over_two_trays() -> None:
    made = plan("kimi-k3.1-pro", [4, 4], "NVIDIA GB300")
    files = dict(compose_files(made))
    assert len(files) == 2
    service = json.loads(files["kimi-k3.1-pro-1-tray2.compose.yaml"])["services"]["vllm"]
    assert service["image"] == "vllm/vllm-openai:kimi-k31"
    assert service["network_mode"] == "host"
    assert shlex.join(service["command"]).count("--node-rank 1") == 1
    assert service["deploy"]["resources"]["reservations"]["devices"][0]["driver"] == "nvidia"


def test_a_dollar_is_no_variable_of_compose() -> None:
    made = plan("minimax-m3", [8], "AMD Instinct MI355X")
    head = replace(made.head, argv=(*made.head.argv, "--chat-template", "$HOME"), env=(*made.head.env, ("A", "$B")))
    ((_, text),) = compose_files(replace(made, hosts=(head,)))
    service = json.loads(text)["services"]["vllm"]
    assert service["command"][-1] == "$$HOME"
    assert service["environment"]["A"] == "$$B"


def test_no_image_no_compose() -> None:
    with pytest.raises(BadInput) as caught:
        list(compose_files(plan("gpt-oss-120b", [4])))
    assert caught.value.id == "image-none"
    assert caught.value.next_command == "the same command with --output shell"


def of_hardware(model: str, hardware: str, nodes: int) -> LaunchPlan:
    found = OURS.find(model)
    hosts, seen = assumed(hardware, found.library.profile(hardware), nodes)
    request = Request(model, hardware=hardware)
    return plan_of(outline(found, request, hosts, seen), seen, assumed=True)


@pytest.mark.parametrize("files", [scripts, compose_files])
def test_hosts_that_do_not_exist_get_no_files(files: object) -> None:
    with pytest.raises(BadInput, match="needs hosts"):
        list(files(of_hardware("deepseek-v4-pro", "gb200", 2)))  # type: ignore[operator]


@pytest.mark.parametrize("hardware", ["h100", "h200", "h20", "b200", "b300", "gb200", "gb300", "a100", "l40s", "l4"])
def test_a_profile_alone_is_planned_as_a_host_of_it_would_be(hardware: str) -> None:
    found = OURS.find("gpt-oss-120b")
    profile = found.library.profile(hardware)
    hosts, seen = assumed(hardware, profile, 2)
    assert [host.name for host in hosts] == ["node1", "node2"]
    if found.recipe.meta.hardware.get(hardware):
        made = of_hardware("gpt-oss-120b", hardware, 2)
        assert made.inputs.assumed
        assert made.layout.hardware == hardware
        assert [len(host.gpus) for host in made.hosts] == [profile.gpus] * 2
    assert all(one.gpus for one in seen.values())


def test_several_files_stand_behind_their_names() -> None:
    assert list(bundle(iter([("a", "1\n")]))) == ["1"]
    assert list(bundle(iter([("a", "1\n"), ("b", "2\n")]))) == ["# ==> a <==", "1", "", "# ==> b <==", "2", ""]
