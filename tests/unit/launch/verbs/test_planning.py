"""`invoke plan`: flags to output and exit codes, offline from a bundle."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tasks
from benchmarks.plan import planning_cpu_s
from inventory.errors import BadInput, BringupError, CheckFailed, ExitCode
from launch.verbs import planning

BUNDLE = Path(__file__).resolve().parents[3] / "fixtures" / "hosts"
FLAGS = {name: one.default for name, one in list(inspect.signature(tasks.ns["plan"].body).parameters.items())[1:]}


def call(**flags: Any) -> ExitCode:  # noqa: ANN401
    return planning.plan(**{**FLAGS, **flags})


def test_a_plan_from_a_bundle_needs_no_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(model="gpt-oss-120b", replay=str(BUNDLE), hosts="gb200-tray") is ExitCode.DONE
    said = capsys.readouterr()
    for words in ("why:", "alternatives:", "rank(s) 0", "NUMA node 0", "2 + N", "--served-model-name gpt-oss-120b"):
        assert words in said.out
    assert "==>" not in said.out, "progress is no data"


def test_json_names_its_kind_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    call(model="gpt-oss-120b", replay=str(BUNDLE), hosts="gb200-tray", json=True, feature="tool_calling")
    document = json.loads(capsys.readouterr().out)
    assert (document["format_version"], document["kind"]) == (1, "launch-plan")
    asked = dict(document["data"]["inputs"]["asked"])
    assert asked == {"model": "gpt-oss-120b", "hosts": "gb200-tray", "feature": "tool_calling"}


def test_what_would_move_the_cursor_is_shown_and_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    call(model="gpt-oss-120b", replay=str(BUNDLE), hosts="gb200-tray", set="chat-template='\x1b[2Jgone\nnext'")
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\\x1b[2Jgone" in said
    assert "├─ NUMA node 0" in said, "drawings are no such characters"


def test_an_api_key_is_in_no_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("correct-horse-battery\n")
    for output in ("json", "text", "shell"):
        call(model="gpt-oss-120b", replay=str(BUNDLE), hosts="gb200-tray", output=output, api_key=str(key))
        said = capsys.readouterr()
        assert "correct-horse" not in said.out + said.err
    assert "VLLM_API_KEY must be set in it" in said.out


def test_one_tray_too_few_shows_the_plan_and_refuses_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CheckFailed) as caught:
        call(model="deepseek-v4-pro", replay=str(BUNDLE), hosts="gb200-tray")
    assert "960.0 GB" in str(caught.value)
    assert "1 more host(s)" in caught.value.next_command
    assert "it does not fit" in capsys.readouterr().out
    with pytest.raises(CheckFailed):
        call(model="deepseek-v4-pro", replay=str(BUNDLE), hosts="gb200-tray", output="shell")
    assert capsys.readouterr().out == "", "nothing that somebody might run"


def test_hardware_alone_takes_as_few_nodes_as_hold_the_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(model="deepseek-v4-pro", hardware="gb200", json=True) is ExitCode.DONE
    data = json.loads(capsys.readouterr().out)["data"]
    assert (data["layout"]["nodes"], data["inputs"]["assumed"]) == (2, True)
    assert call(model="deepseek-v4-pro", hardware="gb200", nodes="3") is ExitCode.DONE
    assert "nothing of them is a fact" in capsys.readouterr().out


def test_hosts_of_different_kinds_are_planned_with_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    hosts = "gb200-tray,gb300-tray"
    assert call(model="gpt-oss-120b", replay=str(BUNDLE), hosts=hosts, nodes="1") is ExitCode.DONE
    assert "gb300-tray: it is gb300, the others are gb200" in capsys.readouterr().out


def test_files_are_written_into_a_new_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = {"model": "gpt-oss-120b", "replay": str(BUNDLE), "hosts": "gb200-tray", "output": "shell"}
    call(**wanted, save=str(tmp_path / "new"))
    (path,) = (tmp_path / "new").iterdir()
    assert capsys.readouterr().out.strip() == str(path)
    assert os.access(path, os.X_OK)
    assert subprocess.run(["sh", "-n", str(path)]).returncode == 0  # noqa: PLW1510
    with pytest.raises(BadInput, match="--save"):
        call(**wanted, save=str(tmp_path / "new"))


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"model": ""}, "--model is missing"),
        ({"hosts": ""}, ""),
        ({"output": "yaml"}, "--output"),
        ({"output": "shell", "json": True}, "--output"),
        ({"nodes": "0"}, "--nodes"),
        ({"nodes": "two"}, "--nodes"),
        ({"set": "a={"}, "--set"),
        ({"set": "max-modle-len=3"}, "--max-model-len"),
        ({"hosts": "elsewhere"}, "elsewhere"),
        ({"hardware": "h200"}, "--hardware h200 contradicts the hosts"),
        ({"model": "tiny-dense", "hosts": "", "replay": "", "hardware": "h200"}, "a recipe that uses none"),
        ({"strategy": "fast"}, "one of multi_node_dep"),
        ({"save": "/tmp/never-made"}, "--save"),
        (
            {"port": "13345", "model": "deepseek-v4-pro", "hosts": "h200-hgx"},
            "--port 13345 contradicts --rpc-port 13345",
        ),
        ({"port": "65535", "load_balancing": "external", "model": "deepseek-v4-pro", "hosts": "h200-hgx"}, "65535"),
        ({"model": "kimi-k3"}, "single_node_tp needs 8 GPUs (strategy_min_gpus), 4 more than 4"),
        (
            {"variant": "nvfp4", "model": "deepseek-v4-pro", "hosts": "", "replay": "", "hardware": "h200"},
            "(--hardware)",
        ),
        ({"hosts": "", "replay": "", "hardware": "gb2000"}, "gb2000"),
    ],
)
def test_bad_input_is_exit_2_before_anything_else(flags: dict[str, Any], says: str) -> None:
    wanted = {"model": "gpt-oss-120b", "replay": str(BUNDLE), "hosts": "gb200-tray", **flags}
    if flags == {"hosts": ""}:  # all of the bundle: hosts of every kind
        with pytest.raises(BringupError):
            call(**wanted)
        return
    with pytest.raises(BadInput) as caught:
        call(**wanted)
    assert says in str(caught.value)
    assert caught.value.next_command


def test_two_plans_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for name, setting in (("a", ""), ("b", "kv-cache-dtype=fp8")):
        call(model="gpt-oss-120b", replay=str(BUNDLE), hosts="gb200-tray", json=True, set=setting)
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(capsys.readouterr().out)
    assert call(compare=",".join(map(str, paths))) is ExitCode.DONE
    said = capsys.readouterr().out
    assert "gb200-tray option --kv-cache-dtype: none -> fp8" in said
    assert "more requests at once, or longer ones" in said
    call(compare=f"{paths[0]},{paths[0]}")
    assert "no difference" in capsys.readouterr().out
    call(compare=",".join(map(str, paths)), json=True)
    assert json.loads(capsys.readouterr().out)["kind"] == "plan-differences"
    with pytest.raises(BadInput, match="two plans"):
        call(compare=str(paths[0]))
    with pytest.raises(BadInput, match="is not a plan") as caught:
        call(compare=f"{paths[0]},{tmp_path}/none.json")
    assert caught.value.next_command.endswith(f"> {tmp_path}/none.json")
    (tmp_path / "notes.txt").write_text("not to be lost")
    with pytest.raises(BadInput, match="is not a plan") as caught:
        call(compare=f"{paths[0]},{tmp_path}/notes.txt")
    assert "notes.txt" not in caught.value.next_command


def test_two_processes_write_the_same_bytes() -> None:
    words = ["plan", "--model", "deepseek-v4-pro", "--hardware", "gb200", "--json"]
    invoke = str(Path(sys.executable).with_name("invoke"))
    root = BUNDLE.parents[2]
    said = [
        subprocess.run(
            [invoke, *words], capture_output=True, check=True, cwd=root, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]


@pytest.mark.serial
@pytest.mark.parametrize(("hosts", "most"), [(2, 0.25), (64, 2.0)])
def test_planning_takes_few_cpu_seconds(hosts: int, most: float) -> None:
    """CPU, not wall: whatever else runs on the machine. A process's start comes on top; see benchmarks/plan.py."""
    assert planning_cpu_s(hosts, 2) < most
