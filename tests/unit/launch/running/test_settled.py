"""What a proven stop tells systemd, in order: a program that writes down what it was asked stands for systemctl here.

With the real one: tests/lab/test_supervised.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from launch.running.supervise import preamble, read_told, stop_script, tell_script
from tests.unit.playbooks.sh import sh

NAME, UNIT = "trial", "bringup-trial.service"
ENDED = "Result=exit-code\nExecMainCode=1\nExecMainStatus=7\nNRestarts=0\n"
SYSTEMCTL = """#!/bin/sh
printf '%s\\n' "$*" >>"{place}/asked"
case $1 in
is-failed) [ -e "{place}/failed" ] ;;
is-active) exit 3 ;;
reset-failed) rm -f "{place}/failed" ;;
show) if [ -e "{place}/failed" ]; then printf '{ended}'; else printf 'Result=success\\nExecMainStatus=0\\n'; fi ;;
esac
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host with a unit that failed, as far as its systemctl says."""
    (tmp_path / "deployments" / NAME / "g1").mkdir(parents=True)
    (tmp_path / "deployments" / NAME / "current").symlink_to("g1")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "systemctl"
    program.write_text(SYSTEMCTL.format(place=tmp_path, ended=ENDED.replace("\n", "\\n")))
    program.chmod(0o755)
    (tmp_path / "failed").touch()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path


def as_unit(script: str) -> str:
    """The same where ranks are a unit of systemd, and only root asks it."""
    functions, _, verb = script.rstrip("\n").rpartition("\n")
    return f'{functions}\nhas_unit() {{ :; }}\nas_root() {{ "$@"; }}\n{verb}\n'


def asked(host: Path) -> list[str]:
    return [line for line in (host / "asked").read_text().splitlines() if "ControlGroup" not in line]


def stopped(host: Path, *ports: int) -> str:
    return sh(as_unit(stop_script(NAME, ports, state_dir=str(host), grace_s=1)), timeout=60).stdout


def test_how_the_ranks_ended_is_kept_and_then_exactly_their_unit_is_settled(host: Path) -> None:
    assert stopped(host) == ""
    assert asked(host) == [
        f"stop {UNIT}",
        f"is-active --quiet {UNIT}",
        f"is-failed --quiet {UNIT}",
        f"show {UNIT} -p Result,ExecMainCode,ExecMainStatus,NRestarts",
        f"reset-failed {UNIT}",
    ]
    assert (host / f"deployments/{NAME}/g1/unit-ended").read_text() == ENDED


def test_what_systemd_was_told_to_forget_is_still_told(host: Path) -> None:
    stopped(host)
    assert stopped(host) == "", "a second stop keeps what the first one kept"
    (told,) = read_told(sh(as_unit(tell_script(state_dir=str(host)))).stdout, "tray1")
    assert (told.exit_status, told.restarts) == (7, 0)
    unit = sh(as_unit(f"{preamble(str(host))}\nunit_told {NAME} ActiveState,Result,ExecMainStatus")).stdout
    assert unit == ENDED


def test_a_stop_that_is_not_proven_settles_nothing(host: Path) -> None:
    script = as_unit(stop_script(NAME, (), state_dir=str(host), grace_s=1))
    functions, _, verb = script.rstrip("\n").rpartition("\n")
    left = sh(f"{functions}\ngpus_still_held() {{ echo 'GPU 0 is held by process 7'; }}\n{verb}\n", timeout=60)
    assert left.stdout == "GPU 0 is held by process 7\n"
    assert (host / "failed").exists()


def test_a_disk_that_is_full_leaves_the_evidence_with_systemd(host: Path) -> None:
    (host / "bin/mv").write_text("#!/bin/sh\nexit 1\n")
    (host / "bin/mv").chmod(0o755)
    assert stopped(host) == ""
    assert (host / "failed").exists()
    assert not list((host / f"deployments/{NAME}/g1").glob("unit-ended*"))
