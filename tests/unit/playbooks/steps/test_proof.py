"""The proof of an environment, in a real shell: what is imported are small modules called torch and vllm."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from playbooks.environments import load_environment
from playbooks.plan import ABSENT, Step, refusal_of
from playbooks.steps import proof_program
from playbooks.steps.proof import PROVED, environment_proof
from playbooks.steps.proof_program import runs_on

WANTED = load_environment("vllm", "0.33.0")
TORCH = """
import os
class version: cuda, hip = {cuda!r}, None
class _C:
    def _cuda_getArchFlags(): return {flags!r}
__version__ = "2.13.0"
assert os.environ["RANK_NEEDS"] == "it's"
"""


@pytest.mark.parametrize(
    ("entry", "capability", "runs"),
    [
        ("sm_90", "9.0", True),
        ("sm_90a", "9.0", True),
        ("sm_90a", "9.1", False),
        ("sm_80", "8.6", True),
        ("sm_86", "8.0", False),
        ("sm_100", "10.3", True),
        ("sm_100a", "10.3", False),
        ("sm_100f", "10.3", True),
        ("sm_120", "12.1", True),
        ("sm_90", "10.0", False),
        ("compute_90", "10.0", True),
        ("compute_120", "10.0", False),
        ("gfx942", "gfx942", True),
        ("gfx942:sramecc+:xnack-", "gfx942", True),
        ("gfx90a", "gfx942", False),
    ],
)
def test_what_code_of_torch_runs_where(entry: str, capability: str, runs: bool) -> None:  # noqa: FBT001
    assert runs_on(entry, capability) is runs


class Trial:
    """An environment whose Python is this one, with modules of its own in front."""

    def __init__(self, base: Path) -> None:
        self.env, self.proofs, self.job = base / "envs/it's", base / "proofs", base / "job"
        (self.env / "bin").mkdir(parents=True)
        self.modules = self.env / "modules"
        self.modules.mkdir()
        python = self.env / "bin/python"
        python.write_text(
            f"#!/bin/sh\nPYTHONPATH='{self.modules}' exec '{sys.executable}' \"$@\"\n".replace("it's", "it'\\''s")
        )
        python.chmod(0o755)
        self.job.mkdir()
        self.torch()
        self.vllm('__version__ = "0.33.0"\n')
        self.mark()

    def torch(self, cuda: str | None = "13.0", flags: str = "sm_90 sm_100 compute_120") -> None:
        (self.modules / "torch.py").write_text(TORCH.format(cuda=cuda, flags=flags))

    def vllm(self, text: str) -> None:
        (self.modules / "vllm").mkdir(exist_ok=True)
        (self.modules / "vllm/__init__.py").write_text(text)
        (self.modules / "vllm/platforms.py").write_text("class current_platform:\n    def import_kernels(): pass\n")

    def mark(self, *, simulated: bool = False) -> None:
        (self.env / "bringup-env.json").write_text(json.dumps({"digest": "x", "simulated": simulated}))

    def step(self, *capabilities: str) -> Step:
        env = {"RANK_NEEDS": "it's"}
        return environment_proof(
            WANTED, folder=str(self.env), proofs=str(self.proofs), env=env, capabilities=capabilities
        )

    def run(self, step: Step) -> str:
        """The state before; then the step is made, and its named outcome returned, empty where it was done."""
        with (self.job / "output").open("w") as out:
            subprocess.run(
                ["/bin/sh", "-eu"],
                input=step.script,
                text=True,
                stdout=out,
                stderr=out,
                env={"JOB": str(self.job), "PATH": "/usr/bin:/bin"},
                check=False,
                timeout=60,
            )
        said = (self.job / "output").read_text()
        return next((line.partition("\t")[2] for line in said.splitlines() if line.startswith("outcome\t")), "")

    def state(self, step: Step) -> str:
        return subprocess.run(["/bin/sh"], input=step.probe, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def test_what_is_proved_stays_proved_until_it_is_made_anew(trial: Trial) -> None:
    step = trial.step("9.0", "9.0", "10.3")
    assert trial.state(step) == "unproved"
    assert trial.run(step) == ""
    assert trial.state(step) == PROVED
    [record] = trial.proofs.iterdir()
    told = json.loads(record.read_text())
    assert told["gpus"] == ["10.3", "9.0"]
    assert (told["vllm"], told["torch"], told["cuda"]) == ("0.33.0", "2.13.0", "13.0")
    assert told["nccl"] is None
    assert set(told["kernels"]) == set(proof_program.KERNELS)
    trial.mark()
    (trial.env / "bringup-env.json").rename(trial.env / "x")
    assert trial.state(step) == ABSENT
    trial.mark()
    assert trial.state(step) == "unproved", "the same name, another environment"


def test_the_nccl_that_ranks_load_is_on_record(trial: Trial) -> None:
    library = trial.modules.parent / "nvidia/nccl/lib/libnccl.so.2"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"a library")
    (trial.modules / "torch").mkdir()
    (trial.modules / "torch.py").rename(trial.modules / "torch/__init__.py")
    library.parents[2].rename(trial.modules / "nvidia")
    step = trial.step("9.0")
    assert trial.run(step) == ""
    told = json.loads(next(trial.proofs.iterdir()).read_text())["nccl"]
    assert told["file"].endswith("/nvidia/nccl/lib/libnccl.so.2")
    assert len(told["sha256"]) == 64


def test_a_gpu_without_kernels_and_a_torch_without_gpus_are_named(trial: Trial) -> None:
    trial.torch(flags="sm_90a sm_100a")
    step = trial.step("10.3")
    said = trial.run(step)
    refusal, detail = refusal_of(said, step.refusals)
    assert refusal
    assert refusal.id == "environment-unproved"
    assert detail == "torch 2.13.0 has kernels for sm_90a sm_100a, and none for 10.3"
    assert trial.state(step) == "unproved", "it is not called done, the next time either"
    trial.torch(cuda=None)
    assert "has no GPU runtime" in trial.run(step)


def test_an_import_that_fails_is_shown_by_its_last_words(trial: Trial) -> None:
    trial.vllm("raise ImportError('libcudart.so.13: cannot open shared object file')\n")
    assert "libcudart.so.13: cannot open" in trial.run(trial.step("9.0"))


def test_a_simulated_engine_has_nothing_to_prove_and_a_missing_one_is_absent(trial: Trial) -> None:
    step = trial.step("9.0")
    trial.mark(simulated=True)
    assert trial.state(step) == PROVED
    (trial.env / "bringup-env.json").unlink()
    assert trial.state(step) == ABSENT


def test_where_no_gpu_is_planned_no_kernels_are_asked_for(trial: Trial) -> None:
    trial.torch(cuda="13.0", flags="")
    assert trial.run(trial.step()) == ""
    assert "kernels for" not in trial.step().summary
