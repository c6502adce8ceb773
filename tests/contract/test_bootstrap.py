"""The set-up script against machines that lack things, made of a PATH of small programs that write down their calls."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALWAYS = ("dirname", "mkdir", "tr")
TOOLS = (
    *("ssh", "sshd", "ip", "mount", "nft", "unshare", "shellcheck", "busybox", "numactl", "ps", "systemctl"),
    *("gpg", "dnf", "createrepo_c", "rpmbuild"),
)
PYTHON_OLD = "exit 1"
PYTHON = 'case $* in *sys.executable*) echo "$0" ;; *ensurepip*) exit "${NO_VENV:-0}" ;; *) exit 1 ;; esac'


@dataclass
class Machine:
    """`path` is the whole PATH; every program in it logs its name and words to `calls`."""

    path: Path
    calls: Path
    checkout: Path

    def has(self, name: str, body: str = "") -> None:
        program = self.path / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >>{self.calls}\n{body}\n')
        program.chmod(0o755)

    def bootstrap(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        script = self.checkout / "playbooks/bootstrap.sh"
        return subprocess.run(
            ["/bin/sh", script, *words],
            env={"PATH": str(self.path), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def called(self, name: str) -> list[str]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line.removeprefix(f"{name} ") for line in lines if line.startswith(f"{name} ")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine of a plain user with Python and nothing else."""
    made = Machine(tmp_path / "bin", tmp_path / "calls", tmp_path / "checkout")
    made.path.mkdir()
    (made.checkout / "playbooks").mkdir(parents=True)
    shutil.copy(ROOT / "playbooks/bootstrap.sh", made.checkout / "playbooks")
    for name in ALWAYS:
        (made.path / name).symlink_to(shutil.which(name) or "missing")
    made.has("id", "echo 1000")
    made.has("python3", PYTHON)
    return made


@pytest.fixture
def ready(machine: Machine) -> Machine:
    """The same with uv and all tools of the tests."""
    machine.has("uv")
    for name in TOOLS:
        machine.has(name)
    return machine


@pytest.mark.parametrize("words", [(), ("help",), ("--help",), ("Deploy",)])
def test_anything_but_the_two_verbs_shows_the_usage(machine: Machine, words: tuple[str, ...]) -> None:
    done = machine.bootstrap(*words)
    assert done.returncode == 2
    assert "usage: sh playbooks/bootstrap.sh deploy|test" in done.stderr


def test_without_a_python_that_is_new_enough_it_says_so(machine: Machine) -> None:
    machine.has("python3", PYTHON_OLD)
    done = machine.bootstrap("deploy")
    assert done.returncode == 2
    assert "Python >= 3.11 is missing" in done.stderr


def test_a_shim_that_does_not_run_is_passed_over(ready: Machine) -> None:
    ready.has("python3", PYTHON_OLD)
    ready.has("python3.12", PYTHON)
    assert "bin/python3.12" in ready.bootstrap("deploy").stderr


def test_a_user_is_told_what_to_install_for_uv(machine: Machine) -> None:
    done = machine.bootstrap("deploy", NO_VENV="1")
    assert done.returncode == 2
    assert "sudo apt-get install --yes --no-install-recommends python3-venv" in done.stderr
    assert machine.called("apt-get") == []


def test_root_gets_it_installed(machine: Machine) -> None:
    machine.has("id", "echo 0")
    machine.has("apt-get")
    machine.bootstrap("deploy", NO_VENV="1")
    assert machine.called("apt-get")[-1].endswith("python3-venv")


def test_a_user_is_told_which_test_tools_are_missing(ready: Machine) -> None:
    for name in ("shellcheck", "busybox"):
        (ready.path / name).unlink()
    done = ready.bootstrap("test")
    assert done.returncode == 2
    assert "missing: shellcheck busybox; type: sudo apt-get update" in done.stderr
    assert ready.called("uv") == []


def test_root_gets_the_missing_test_tools_only(ready: Machine) -> None:
    (ready.path / "shellcheck").unlink()
    ready.has("id", "echo 0")
    ready.has("apt-get")
    ready.bootstrap("test", "-k", "nothing")
    assert ready.called("apt-get")[-1].endswith("--no-install-recommends shellcheck")


def test_packages_that_cannot_be_installed_stop_it(ready: Machine) -> None:
    (ready.path / "shellcheck").unlink()
    ready.has("id", "echo 0")
    ready.has("apt-get", "exit 100")
    done = ready.bootstrap("test")
    assert done.returncode == 2
    assert "apt-get could not install: shellcheck" in done.stderr


def test_deploy_installs_the_lock_and_deploys_the_embedded_model(ready: Machine) -> None:
    done = ready.bootstrap("deploy", "--dry-run")
    assert done.returncode == 0
    assert ready.called("uv") == [
        "--version",
        "sync --frozen --quiet --compile-bytecode --no-dev --inexact",
        "run --no-sync invoke deploy --model tiny-dense --hosts local --dry-run",
    ]
    assert "3.5 GB" in done.stderr


def test_without_an_index_the_cache_is_tried(ready: Machine) -> None:
    ready.has("uv", "case $* in sync*--offline*) ;; sync*) exit 2 ;; esac")
    assert ready.bootstrap("deploy").returncode == 0
    assert [call for call in ready.called("uv") if "--offline" in call]


def test_without_an_index_and_a_cache_it_says_what_is_needed(ready: Machine) -> None:
    ready.has("uv", "case $* in sync*) exit 2 ;; esac")
    done = ready.bootstrap("deploy")
    assert done.returncode == 2
    assert "is an index or mirror reachable" in done.stderr
    assert not [call for call in ready.called("uv") if call.startswith("run")]


def test_python_is_never_downloaded(ready: Machine) -> None:
    ready.has("uv", 'echo "$UV_PYTHON_DOWNLOADS $UV_PYTHON ${VIRTUAL_ENV:-none}" >&2')
    said = ready.bootstrap("test", "-q", VIRTUAL_ENV="/somebody/else").stderr
    assert f"never {ready.path}/python3 none" in said


def test_words_after_test_go_to_pytest(ready: Machine) -> None:
    ready.bootstrap("test", "-k", "a b")
    assert ready.called("uv")[-1] == "run --no-sync pytest -k a b"


@pytest.mark.parametrize(
    ("alone", "together", "code"), [(0, 0, 0), (5, 0, 0), (1, 0, 1), (0, 1, 1), (5, 1, 1), (5, 5, 5), (0, 5, 5)]
)
def test_both_halves_run_and_both_must_pass(ready: Machine, alone: int, together: int, code: int) -> None:
    ready.has("uv", f"case $* in *'not serial'*) exit {together} ;; *serial*) exit {alone} ;; esac")
    assert ready.bootstrap("test").returncode == code
    assert ready.called("uv")[-2:] == [
        "run --no-sync pytest -m serial",
        "run --no-sync pytest -m not serial -n auto --maxprocesses 8 --dist loadfile",
    ]
