"""`check --plan`: the launch of a saved plan, with the flags that it was made with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import BadInput, ExitCode
from launch import verbs
from launch.flags import CHOICE, DECISIONS, SETTINGS
from launch.verbs import arguments
from tests.answered import HOSTS

FLAGS = dict.fromkeys((*CHOICE, *SETTINGS), "") | {"replay": str(HOSTS), "hosts": "h200-hgx", "model": "gpt-oss-120b"}
PLAN = {"output": "", "save": "", "compare": "", "svg": "", "html": "", "hardware": "", "json": True}
CHECK = dict.fromkeys((*CHOICE, *SETTINGS, *DECISIONS, "only", "skip"), "") | {"replay": str(HOSTS)}
TYPED = {"kv_cache_dtype": "fp8", "rpc_port": "13399", "set": "max-model-len=4096", "max_lora_rank": "16"}


@pytest.fixture
def saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    verbs.of("plan")(**FLAGS | TYPED | {"lora": "a=/srv/a"}, **PLAN)
    (tmp_path / "plan.json").write_text(capsys.readouterr().out)
    return tmp_path / "plan.json"


def check(plan: Path, **flags: str) -> ExitCode:
    return ExitCode(verbs.of("check")(**CHECK | flags, plan=str(plan), active=False, json=True))


def test_every_flag_of_the_plan_counts(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    request = arguments.launch_request

    def watched(**flags: str) -> object:
        seen.update(flags)
        return request(**flags)

    monkeypatch.setattr(arguments, "launch_request", watched)
    check(saved)
    assert {name: seen[name] for name in TYPED} == TYPED
    assert (seen["model"], seen["lora"]) == ("gpt-oss-120b", "a=/srv/a")


@pytest.mark.parametrize("flag", ["kv_cache_dtype", "model", "hosts"])
def test_a_flag_that_says_otherwise_is_refused(saved: Path, flag: str) -> None:
    with pytest.raises(BadInput, match=f"--{flag.replace('_', '-')} is not what the plan was made with"):
        check(saved, **{flag: "bf16"})


def test_the_same_flag_again_is_no_contradiction(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(saved, kv_cache_dtype="fp8")
    assert json.loads(capsys.readouterr().out)["kind"] == "findings"


def test_a_key_is_not_in_the_plan_and_not_asked_for(saved: Path) -> None:
    document = json.loads(saved.read_text())
    document["data"]["inputs"]["asked"].append(["api-key", "***"])
    saved.write_text(json.dumps(document))
    check(saved)
