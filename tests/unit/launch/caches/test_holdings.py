"""Which caches of builds may go: never what a stored generation names, never the newest of an environment."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.errors import BringupError, ExitCode
from inventory.fleet import Fleet
from inventory.schema import Host
from launch.caches.collect import caches_held_by, caches_removed
from launch.caches.holdings import (
    CacheFolder,
    CachesHeld,
    caches_script,
    judged_caches,
    read_caches,
    remove_caches_script,
)
from launch.console.report import Report
from launch.pruning import prune
from launch.verbs.weights import weights_gc
from tests.unit.playbooks.sh import sh

OLD, NEW, USED, IMAGE, STAGED = (letter * 12 for letter in "abcde")
ENVIRONMENT = "0123456789abcdef"


def folder(stamp: str, at: int = 100, environment: str = "", *used: str) -> CacheFolder:
    return CacheFolder("h", stamp, 1000, at, environment, used)


def going(*folders: CacheFolder, spare: int = 0, **held: Any) -> set[str]:  # noqa: ANN401  (those of a host)
    verdicts = judged_caches(CachesHeld("h", folders, **held), spare=spare)
    return {one.folder.stamp for one in verdicts if one.may_go}


def test_only_what_nothing_names_may_go() -> None:
    assert going(folder(OLD), folder(USED, 100, "", "chat/g1")) == {OLD}
    (verdict,) = judged_caches(CachesHeld("h", (folder(USED, 100, "", "chat/g1"),)))
    assert verdict.reasons == ("chat/g1 needs it",)


def test_of_an_environment_that_is_there_the_newest_stays() -> None:
    assert going(folder(OLD, 1, "env"), folder(NEW, 2, "env"), folder(IMAGE, 3, "other")) == {OLD}
    newest_is_used = (folder(OLD, 1, "env"), folder(NEW, 2, "env", "chat/g1"))
    assert going(*newest_is_used) == {OLD}, "what is used is the newest already"


def test_spare_ones_are_the_newest_of_those_that_nothing_needs() -> None:
    folders = [folder(OLD, 1), folder(NEW, 4), folder(IMAGE, 3), folder(USED, 5, "", "chat/g1")]
    assert going(*folders, spare=2) == {OLD}
    assert going(*folders, spare=0) == {OLD, NEW, IMAGE}


@pytest.mark.parametrize("unknown", [{"blind": ("/s/deployments",)}, {"file_system": "nfs"}])
def test_where_anything_is_not_known_nothing_may_go(unknown: dict[str, Any]) -> None:
    assert going(folder(OLD), **unknown) == set()


folders = st.lists(
    st.builds(
        folder,
        st.text("0123456789abcdef", min_size=12, max_size=12),
        st.integers(0, 5),
        st.sampled_from(["", "env1", "env2"]),
    ),
    unique_by=lambda one: one.stamp,
)


@settings(deadline=None)
@given(folders, st.sets(st.integers(0, 9)), st.integers(0, 3))
def test_what_is_needed_stays_and_the_rest_goes_but_for_the_spare(
    made: list[CacheFolder], used: set[int], spare: int
) -> None:
    store = [folder(one.stamp, one.changed_at, one.environment, *(["d/g"] * (i in used))) for i, one in enumerate(made)]
    gone = going(*store, spare=spare)
    assert not gone & {one.stamp for one in store if one.used_by}
    for environment in {one.environment for one in store} - {""}:
        of_it = [one for one in store if one.environment == environment]
        newest = {one.stamp for one in of_it if one.changed_at == max(other.changed_at for other in of_it)}
        assert newest - gone
    left = [one for one in store if one.stamp not in gone and not one.used_by]
    assert len(left) <= spare + 2, "the newest of two environments, and the spare"
    assert gone <= going(*store)


@pytest.mark.parametrize("line", ["stamp\t../../etc\t1\t1\t-", f"stamp\t{OLD}\tx\t1\t-", "nonsense", "used\ta\tb"])
def test_a_line_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"caches|invalid literal"):
        read_caches("h", line)


def test_only_stamps_are_ever_removed() -> None:
    for name in ("..", "vllm", f"{OLD}/../x", ".staged"):
        with pytest.raises(ValueError, match="not a stamp"):
            remove_caches_script([name], state_dir="/s")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A host after some builds: `OLD` and `NEW` of one environment, `USED` by an old generation, an image's, a set."""
    root = tmp_path / "state"
    caches = root / "caches"
    for age, (stamp, program) in enumerate(
        [
            (NEW, f"{root}/envs/{ENVIRONMENT}/bin/vllm"),
            (OLD, f"{root}/envs/{ENVIRONMENT}/bin/vllm"),
            (USED, f"{root}/envs/gone/bin/vllm"),
            (IMAGE, "vllm"),
        ]
    ):
        (caches / stamp / "vllm").mkdir(parents=True)
        (caches / stamp / "vllm/kernel.so").write_bytes(b"x" * 50_000)
        (caches / stamp / ".bringup-stamp.json").write_text(json.dumps({"program": program}, indent=1))
        then = time.time() - 1000 * (age + 1)
        os.utime(caches / stamp, (then, then))
    (caches / ".staged" / STAGED / "files").mkdir(parents=True)
    for beside in (caches / ".staged" / OLD, caches / ".poisoned" / OLD):
        beside.mkdir(parents=True)
        os.utime(beside, (then, then))
    (caches / "vllm").mkdir()
    (caches / f".going-{'f' * 12}/vllm").mkdir(parents=True)
    (caches / ".kv-memory").mkdir()
    (root / "envs" / ENVIRONMENT).mkdir(parents=True)
    (root / "envs" / ENVIRONMENT / "bringup-env.json").write_text("{}")
    for generation, stamp in (("g1", USED), ("g2", NEW)):
        made = root / "deployments/chat" / generation
        made.mkdir(parents=True)
        (made / "command.sh").write_text(f"export VLLM_CACHE_ROOT={root}/caches/{stamp}/vllm\n")
    (root / "deployments/chat/current").symlink_to("g2")
    return root


def told(state: Path) -> CachesHeld:
    done = sh(caches_script(state_dir=str(state)))
    assert (done.returncode, done.stderr) == (0, "")
    return read_caches("h", done.stdout)


def names(state: Path) -> set[str]:
    return {one.name for one in (state / "caches").iterdir()}


@pytest.fixture
def fleet(state: Path) -> Iterator[Fleet]:
    with Fleet([Host(name="h", transport="local", state_dir=str(state))]) as fleet:
        yield fleet


def test_a_host_tells_what_it_holds_and_what_nobody_compiled_is_not_listed(state: Path) -> None:
    found = {one.stamp: one for one in told(state).folders}
    assert set(found) == {OLD, NEW, USED, IMAGE, STAGED}
    assert found[USED].used_by == ("chat/g1",), "an old generation counts as much as the current one"
    assert found[NEW].used_by == ("chat/g2",)
    assert {stamp for stamp, one in found.items() if one.environment} == {OLD, NEW}
    assert found[NEW].environment == ENVIRONMENT
    assert 50_000 <= found[OLD].bytes < 100_000
    assert going(*told(state).folders) == {OLD, IMAGE, STAGED}


def test_a_file_in_use_and_staged_is_counted_once(state: Path) -> None:
    before = {one.stamp: one.bytes for one in told(state).folders}[OLD]
    os.link(state / "caches" / OLD / "vllm/kernel.so", state / "caches/.staged" / OLD / "kernel.so")
    assert {one.stamp: one.bytes for one in told(state).folders}[OLD] == before


def test_a_command_that_cannot_be_read_keeps_everything(state: Path) -> None:
    (state / "deployments/chat/g1/command.sh").unlink()
    (state / "deployments/chat/g1/generation.json").write_text("{}")
    assert judged_caches(told(state))
    assert not any(one.may_go for one in judged_caches(told(state)))


def test_without_caches_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert told(tmp_path) == CachesHeld("h")


def test_what_goes_takes_along_what_lay_beside_it(fleet: Fleet, state: Path) -> None:
    gone = caches_removed(fleet, ["h"], spare=0)["h"]
    assert not isinstance(gone, BringupError)
    assert {one.stamp for one in gone} == {OLD, IMAGE, STAGED}
    assert names(state) == {NEW, USED, "vllm", ".kv-memory", ".staged", ".poisoned"}
    assert not list((state / "caches/.staged").iterdir())
    assert not list((state / "caches/.poisoned").iterdir())
    assert caches_removed(fleet, ["h"], spare=0) == {"h": ()}


def test_what_has_come_into_use_since_it_was_shown_stays_and_nothing_else_goes(fleet: Fleet, state: Path) -> None:
    command = state / "deployments/chat/g1/command.sh"
    command.write_text(command.read_text() + f"# {state}/caches/{OLD}/vllm\n")
    gone = caches_removed(fleet, ["h"], spare=0, shown={"h": {OLD, IMAGE}})["h"]
    assert [one.stamp for one in gone if isinstance(one, CacheFolder)] == [IMAGE]  # type: ignore[union-attr]
    assert {OLD, NEW, USED} <= names(state)


def test_what_cannot_be_removed_is_named(fleet: Fleet, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "echo 'gone nothing'; echo 'Permission denied' >&2\n"
    monkeypatch.setattr("launch.caches.collect.remove_caches_script", lambda _, **__: script)
    error = caches_removed(fleet, ["h"], spare=0)["h"]
    assert isinstance(error, BringupError)
    assert error.id == "caches-not-removed"
    assert "Permission denied" in error.observed
    assert str(state) in error.observed


def test_noise_of_a_login_shell_is_no_list(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launch.caches.collect.caches_script", lambda **_: "echo welcome\n")
    error = caches_held_by(fleet, ["h"])["h"]
    assert isinstance(error, BringupError)
    assert error.id == "caches-unreadable"


def test_a_run_that_changed_something_leaves_two_that_nothing_needs(
    fleet: Fleet, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        (state / "caches" / f"{number:012}").mkdir()
        os.utime(state / "caches" / f"{number:012}", (number, number))
    prune(fleet, ["h"], Report())
    left = {OLD, NEW, USED, IMAGE} & names(state)
    assert left == {OLD, NEW, USED}, "the staged set and OLD are the newest"
    assert (state / "caches/.staged" / STAGED).exists()
    assert "pruned caches of builds that nothing needs:" in capsys.readouterr().err


def test_gc_shows_caches_and_takes_what_it_showed(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(json.dumps({"hosts": {"h": {"transport": "local", "state_dir": str(state)}}}))
    asked = {"hosts": "all", "inventory": str(inventory)}
    assert weights_gc(**asked, yes=False, dry_run=False, json=False) is ExitCode.CHANGES_PENDING
    said = capsys.readouterr().err
    assert f"h: caches {OLD}" in said
    assert f"caches {USED}" in said
    assert "chat/g1 needs it" in said
    assert weights_gc(**asked, yes=True, dry_run=True, json=True) is ExitCode.CHANGES_PENDING
    rows = json.loads(capsys.readouterr().out)["data"]
    assert {one["caches"] for one in rows if not one["kept_because"]} == {OLD, IMAGE, STAGED}
    assert OLD in names(state), "a dry run removes nothing, also with --yes"
    assert weights_gc(**asked, yes=True, dry_run=False, json=False) is ExitCode.DONE
    assert f"removed caches {OLD}" in capsys.readouterr().err
    assert weights_gc(**asked, yes=True, dry_run=False, json=False) is ExitCode.DONE
    assert "nothing to remove" in capsys.readouterr().err
