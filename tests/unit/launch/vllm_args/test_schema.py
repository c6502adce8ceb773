"""The committed schemas against the reference that was made independently, and the handbooks' commands against them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from launch.vllm_args import check
from launch.vllm_args.make_schema import version_of
from launch.vllm_args.parse import load

SHARED = Path(__file__).resolve().parents[4] / "../shared"
VERSIONS = ("0.32.0", "0.33.0")


def reference(version: str) -> dict[str, Any]:
    path = SHARED / f"vllm/serve-args-{version}.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not there: the schema is compared where the reference is")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_options_and_spellings_agree_with_the_reference(version: str) -> None:
    mine, theirs = load(version)["options"], {one["dest"]: one for one in reference(version)["args"]}
    assert mine.keys() == theirs.keys()
    for dest, option in theirs.items():
        assert sorted(mine[dest]["flags"]) == sorted(option["accepted_spellings"]), dest
        choices = [one for one in option["choices"] or [] if one is not None]
        assert sorted(map(str, mine[dest].get("choices", []))) == sorted(map(str, choices)), dest


@pytest.mark.parametrize("version", VERSIONS)
def test_keys_of_json_options_agree_with_the_reference(version: str) -> None:
    """Fields that a constructor does not take are not keys that an operator can write."""
    for name, keys in reference(version)["json_subkeys"].items():
        assert load(version)["configs"][name].keys() <= keys.keys(), name
        missing = keys.keys() - load(version)["configs"][name].keys()
        assert not missing or name in {"CompilationConfig", "ECTransferConfig"}, (name, missing)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_reference_inside_a_schema_resolves(version: str) -> None:
    schema = load(version)
    hints = [hint for keys in schema["configs"].values() for hint in keys.values() if isinstance(hint, str)]
    for hint in hints:
        kind, _, name = hint.rstrip("?").partition(":")
        assert not name or name in schema["configs" if kind == "config" else "enums"]
    assert all(option["config"] in schema["configs"] for option in schema["options"].values() if "config" in option)
    assert len(schema["env"]) > 300


def test_version_of_a_wheel() -> None:
    assert version_of(Path("vllm-0.33.0-cp38-abi3-manylinux_2_28_x86_64.whl")) == "0.33.0"
    assert version_of(Path("vllm-0.32.0+cpu-cp38-abi3-linux_x86_64.whl")) == "0.32.0"
    with pytest.raises(SystemExit):
        version_of(Path("torch-2.0.whl"))


def handbook_commands() -> list[list[str]]:
    """Every `vllm serve` of the code blocks, without the environment and comments around it."""
    found = []
    for path in sorted((SHARED / "handbook").glob("*.md")):
        for block in re.findall(r"```[^\n]*\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
            joined = re.sub(r"\\\n", " ", block)
            for line in joined.splitlines():
                match = re.match(r"\s*(?:\w+=\S+ )*(vllm serve .*)", line)
                if match:
                    found.append(shlex.split(match[1].replace("$((4 * NODE_RANK))", "4"), comments=True))
    return found


# What 0.33.0 does not take of the handbooks, with the form that it does.
REFUSED = {
    "--tokenizer-mode glm5_next": "--tokenizer-mode auto",
    "--moe-backend deep_gemm_amxf4_mega_moe": "--moe-backend deep_gemm_mega_moe",
    "--data-parallel-address": "--data-parallel-address ADDRESS_OF_THE_HEAD",
}


def test_every_handbook_command_is_taken_or_refused_with_the_right_form() -> None:
    commands = handbook_commands()
    if not commands:
        pytest.skip("the handbooks are not there")
    assert len(commands) > 25
    refused = {one.token: one.nearest for argv in commands for one in check(argv, {}, "0.33.0")}
    assert refused == REFUSED
