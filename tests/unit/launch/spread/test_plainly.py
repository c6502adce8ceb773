"""rsync in the place of the spread, between hosts of this machine that pretend to have no Python."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from launch.spread import plain_scripts, scripts
from launch.spread.outcome import Outcome
from launch.spread.parcel import MANIFEST, parcel_of
from launch.spread.plain_scripts import Given
from launch.spread.scripts import Post
from launch.spread.spread import spread
from tests.unit.launch.spread.swarm import Swarm, fill

needs_rsync = pytest.mark.skipif(not shutil.which("rsync"), reason="no rsync here")
POST = Post("tray1", "/var/lib/it's bringup", "/srv/the model", "fd00::1", "0123456789abcdef" * 4)
PARCEL = parcel_of('{"files": [{"path": "it\'s \\\\ a", "size": 3, "sha256": "' + "0" * 64 + '"}]}')
GIVEN = Given(("fd00::2", 20001), "hush", 1_000_000)
SCRIPTS = {
    "lend": plain_scripts.lend_script(POST, PARCEL, "hush"),
    "fetch": plain_scripts.fetch_script(POST, PARCEL, GIVEN, "spread-1-rsync", "{}"),
    "unlend": plain_scripts.unlend_script(POST),
}


def run(swarm: Swarm, sources: str, targets: str) -> dict[str, Outcome]:
    with swarm.fleet() as fleet:
        return spread(fleet, swarm.delivery(sources, targets))


def without_python(monkeypatch: pytest.MonkeyPatch, *hosts: str) -> None:
    """These hosts answer as ones that have no Python do."""
    begin = scripts.begin_script

    def pretended(post: Post, *words: object) -> str:
        return f"echo {scripts.NO_PYTHON}" if post.host in hosts else begin(post, *words)  # type: ignore[arg-type]

    monkeypatch.setattr(scripts, "begin_script", pretended)


@needs_rsync
def test_a_host_without_python_gets_it_from_one_that_is_done(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    without_python(monkeypatch, "c")
    outcomes = run(swarm, "a", "bc")
    assert all(one.verified for one in outcomes.values())
    assert swarm.whole("c")
    assert not Path(swarm.post("a").run + ".rsync").exists(), "it lends no more"
    assert not Path(swarm.post("c").run + ".rsync").exists()


@needs_rsync
def test_without_any_python_the_source_lends_to_all(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    without_python(monkeypatch, "a", "b", "c")
    outcomes = run(swarm, "a", "bc")
    assert all(one.verified for one in outcomes.values())
    assert all(swarm.whole(name) for name in "abc")


@needs_rsync
def test_a_python_that_is_too_old_counts_as_none(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "OLDEST_PYTHON", (99, 0))
    outcome = run(swarm, "a", "b")["b"]
    assert swarm.whole("b")
    assert outcome.received == {}, "the spread itself did not run"


@needs_rsync
def test_what_is_wrong_there_is_fetched_again(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    without_python(monkeypatch, "b")
    shutil.copytree(swarm.folder("a"), swarm.folder("b"))
    (swarm.folder("b") / "model-2.safetensors").write_bytes(bytes(4 << 20))
    assert run(swarm, "a", "b")["b"].verified
    assert swarm.whole("b")


@needs_rsync
def test_a_source_whose_copy_is_bad_does_not_lend(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    without_python(monkeypatch, "a", "b")
    (swarm.folder("a") / "config.json").write_text("[]")
    outcomes = run(swarm, "a", "b")
    assert not any(one.verified for one in outcomes.values())
    assert not (swarm.folder("b") / MANIFEST).exists()


@needs_rsync
def test_names_that_sha256sum_writes_otherwise(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    without_python(monkeypatch, "b")
    shutil.rmtree(swarm.folder("a"))
    swarm.parcel = fill(swarm.folder("a"), {"#it's \\ a;b": b"1", "-rf": b"2", "ünï code/x y": b"3"})
    assert run(swarm, "a", "b")["b"].verified
    assert swarm.whole("b")


def test_with_neither_it_is_told(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    without_python(monkeypatch, "b")
    monkeypatch.setattr(plain_scripts, "_begin", lambda *_: f"echo {plain_scripts.NO_RSYNC} >&2; exit 1")
    error = run(swarm, "a", "b")["b"].error
    assert error
    assert error.id == "spread-python"


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_finds_nothing(name: str) -> None:
    program = shutil.which("shellcheck")
    if not program:
        pytest.skip("shellcheck is not installed")
    argv = [program, "--shell=sh", "--exclude=SC2016,SC2034,SC2317,SC2329", "-"]
    done = subprocess.run(argv, input=SCRIPTS[name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_secret_is_no_word_of_a_command() -> None:
    assert not any("hush" in text for text in SCRIPTS.values()), "it is in files alone, written from base64"
