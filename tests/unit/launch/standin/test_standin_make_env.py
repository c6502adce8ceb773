from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from launch.standin.make_env import build


def run(*argv: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, argv)), env={}, capture_output=True, text=True, check=False)


def test_an_environment_is_complete_and_can_be_moved(tmp_path: Path) -> None:
    made = build(tmp_path / "envs" / "0123abcd", "0.33.0")
    assert json.loads((made / "bringup-env.json").read_text()) == {
        "format_version": 1,
        "digest": "0123abcd",
        "vllm": "0.33.0",
        "simulated": True,
    }
    moved = tmp_path / "else where"
    shutil.move(made, moved)
    told = run(moved / "bin" / "vllm", "--version")
    assert (told.returncode, told.stdout) == (0, "0.33.0\n")
    assert "SIMULATED" in told.stderr
    small = "import json, sys, urllib.request; print(json.dumps(sys.version_info >= (3, 11)))"
    assert run(moved / "bin" / "python", "-c", small).stdout == "true\n"


def test_the_digest_may_be_given_and_building_twice_is_harmless(tmp_path: Path) -> None:
    build(tmp_path / "x", "0.32.0")
    made = build(tmp_path / "x", "0.32.0", digest="d" * 8)
    assert json.loads((made / "bringup-env.json").read_text())["digest"] == "d" * 8
    assert run(made / "bin" / "vllm", "--version").stdout == "0.32.0\n"


def test_flags_are_those_of_the_version(tmp_path: Path) -> None:
    old, new = build(tmp_path / "old", "0.32.0"), build(tmp_path / "new", "0.33.0")
    flag = "--disable-flashinfer-autotune"  # 0.32 has the positive spelling only
    assert run(old / "bin" / "vllm", "serve", "/nowhere", flag).returncode == 2
    assert run(new / "bin" / "vllm", "serve", "/nowhere", flag).returncode == 1


def test_an_unknown_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"no option schema of vLLM 9\.9\.9; there are 0\.32\.0, 0\.33\.0"):
        build(tmp_path / "x", "9.9.9")
    assert not (tmp_path / "x").exists()


def test_other_subcommands_are_refused(tmp_path: Path) -> None:
    made = build(tmp_path / "x", "0.33.0")
    for words in ([], ["bench", "serve"], ["--help"]):
        told = run(made / "bin" / "vllm", *words)
        assert told.returncode == 2
        assert "SIMULATED" in told.stderr
