"""Writing in the folders of the plan: really tried in a shell, and what each answer means."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from playbooks.checks.active import os_quota
from playbooks.checks.active.base import Said
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Space
from tests.unit.playbooks.checks.gang import gang_needs, tray_needs


def needs(folder: Path, **env: str) -> HostRequirements:
    return replace(tray_needs(), space=(Space(str(folder / "deep/below"), 1, "state"),), env=tuple(env.items()))


def tried(host: HostRequirements, tools: str = "") -> Finding:
    script = os_quota.script(host, gang_needs())
    assert isinstance(script, str)
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(["/bin/sh", "-c", script], env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    return os_quota.judge(Said(done.returncode, done.stdout), host, gang_needs())


def test_folders_are_written_and_nothing_is_left(tmp_path: Path) -> None:
    found = tried(needs(tmp_path, VLLM_CACHE_ROOT=str(tmp_path / "it's a cache"), HOME="/root"))
    assert (found.status, found.observed) == (Status.PASS, "2 folders took a mebibyte")
    assert list(tmp_path.iterdir()) == []


def test_a_quota_is_told_in_the_words_of_the_kernel(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "dd").write_text("#!/bin/sh\necho \"dd: error writing 'x': Disk quota exceeded\" >&2\nexit 1\n")
    (tools / "dd").chmod(0o755)
    found = tried(needs(tmp_path), str(tools))
    assert found.status is Status.FAIL
    assert "Disk quota exceeded" in found.observed
    assert str(tmp_path) in found.observed
    assert [path.name for path in tmp_path.iterdir()] == ["tools"]


@pytest.mark.parametrize(
    ("out", "status", "words"),
    [
        ("wrote 4 /state\n", Status.WARN, "/state (4 %)"),
        ("wrote 5 /state\n", Status.PASS, "1 folders"),
        ("wrote - /state\n", Status.PASS, "1 folders"),
        ("closed 50 /state\n", Status.PASS, "1 need root"),
        ("sh: mktemp: not found\n", Status.UNKNOWN, "mktemp"),
    ],
)
def test_what_answers_mean(out: str, status: Status, words: str) -> None:
    host = replace(tray_needs(), space=(Space("/state", 1, "state"),))
    found = os_quota.judge(Said(0, out), host, gang_needs())
    assert (found.status, words in found.observed) == (status, True), found


def test_a_plan_that_writes_nowhere_is_skipped() -> None:
    found = os_quota.script(replace(tray_needs(), space=()), gang_needs())
    assert isinstance(found, Finding)
    assert found.status is Status.SKIP
