"""The scripts of packages and repositories as hosts get them: every function and variable of the pieces is there."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from playbooks.entry import At
from playbooks.plan import Step
from playbooks.repositories.source import Source
from tests.unit.playbooks.books.entries import entry, step
from tests.unit.playbooks.repositories.keys import FINGERPRINT, TEXT

SOURCE = Source("amdgpu", "https://mirror.example.com/amdgpu", None, FINGERPRINT, TEXT)
AT = At(playbook="book", state_dir="/var/lib/bringup", sources={"amdgpu": SOURCE})


def scripts() -> dict[str, Step]:
    apt = entry("repository", mirror="amdgpu", suite="noble", components=("main",))
    dnf = entry("repository", mirror="amdgpu", manager="dnf", folder="el/9.6")
    return {
        "package": step("package", packages={"amdgpu-dkms": "1:7.1.3.31500000-*"}, hold=True, removes=["amdgpu-*"]),
        "repository-apt": apt.step(AT),
        "repository-dnf": dnf.step(AT),
    }


@pytest.mark.parametrize("name", ["package", "repository-apt", "repository-dnf"])
@pytest.mark.parametrize("part", ["probe", "script"])
def test_the_whole_script_is_sound(name: str, part: str) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    # Functions of the other part, and variables that only they read: the pieces come as a whole.
    argv = ["shellcheck", "--shell=sh", "--exclude=SC2034,SC2086,SC2046,SC2317,SC2254,SC2013,SC2016,SC2329", "-"]
    done = subprocess.run(argv, input=getattr(scripts()[name], part), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_both_managers_have_what_the_common_part_calls() -> None:
    text = scripts()["package"].script
    for manager in ("apt", "dnf"):
        for function in ("known", "newer", "broken"):
            assert f"\n{manager}_{function}() {{" in text, f"{manager}_{function}"
        assert f"\ninstall_{manager}() {{" in text
        assert f"\nholder_{manager}() {{" in text
