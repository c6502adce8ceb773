"""What may go of weights: never what a stored generation needs, whatever else there is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launch.weights.holdings import Held, Holding, holdings_script, judged, read_holdings, remove_script
from tests.unit.playbooks.sh import sh

W = "/s/weights"
A, B, C = (f"{W}/org--{name}/{name * 40}" for name in "abc")


def holding(path: str, *, used: Sequence[str] = (), busy: Sequence[str] = ()) -> Holding:
    return Holding("h", path, 1000, 50, None, 100, tuple(used), tuple(busy))


def held(
    *holdings: Holding, links: Sequence[tuple[str, str]] = (), blind: Sequence[str] = (), on: str = "ext2/ext3"
) -> Held:
    return Held("h", holdings, on, tuple(links), tuple(blind))


def going(one: Held) -> set[str]:
    return {verdict.holding.path for verdict in judged(one) if verdict.may_go}


def test_only_what_nothing_names_may_go() -> None:
    one = held(holding(A, used=["m/g1"]), holding(B), holding(C, busy=["job x runs"]))
    assert going(one) == {B}
    assert [verdict.reasons for verdict in judged(one)] == [("m/g1 needs it",), (), ("job x runs",)]


def test_a_link_of_what_stays_keeps_what_it_leads_into_and_so_on() -> None:
    links = [(f"{A}/model.safetensors", f"{B}/model.safetensors"), (f"{B}/x", f"{C}/x")]
    assert going(held(holding(A, used=["m/g"]), holding(B), holding(C), links=links)) == set()
    assert going(held(holding(A), holding(B), holding(C), links=links)) == {A, B, C}, "all of them are of no use"
    outside = [(f"{W}/by-hand", f"{C}/x")]
    assert going(held(holding(A), holding(C), links=outside)) == {A}


@pytest.mark.parametrize("keeps", [{"blind": ["/s/deployments"]}, {"on": "nfs"}, {"on": "fuseblk"}])
def test_where_anything_is_not_known_nothing_may_go(keeps: dict[str, str]) -> None:
    one = held(holding(A), **keeps)  # type: ignore[arg-type]
    assert going(one) == set()
    assert judged(one)[0].reasons


paths = st.sampled_from([f"{W}/o--m/{number:040}" for number in range(6)])


@st.composite
def stores(draw: st.DrawFn) -> Held:
    chosen = draw(st.lists(paths, unique=True, min_size=1))
    users = st.lists(st.sampled_from(["d/g1", "d/g2"]), max_size=2)
    busy = st.lists(st.just("a job runs"), max_size=1)
    holdings = [holding(path, used=draw(users), busy=draw(busy)) for path in chosen]
    links = draw(st.lists(st.tuples(paths.map(lambda p: f"{p}/f"), paths.map(lambda p: f"{p}/f")), max_size=8))
    return held(*holdings, links=links)


@settings(deadline=None)
@given(stores())
def test_gc_never_removes_a_referenced_blob(store: Held) -> None:
    """Whatever is reached from a generation, directly or over any number of links, stays; and the rest goes."""
    removed = going(store)
    known = {one.path for one in store.holdings}
    needed = {one.path for one in store.holdings if one.used_by or one.busy}
    # A link outside of any folder that is known is somebody's too.
    needed |= {into for out, into in pairs(store) if out not in known} & known
    while more := {into for out, into in pairs(store) if out in needed and into in known} - needed:
        needed |= more
    assert removed == known - needed


def pairs(store: Held) -> set[tuple[str, str]]:
    return {(out.rpartition("/")[0], into.rpartition("/")[0]) for out, into in store.links if out != into}


def test_verified_is_the_last_time_that_all_of_it_was_read() -> None:
    assert Holding("h", A, 1, None, 70, 100).verified_at is None, "without a manifest nobody knows what all is"
    assert Holding("h", A, 1, 50, 70, 100).verified_at == 70
    assert (holding(A).repo, holding(A).commit) == ("org/a", "a" * 40)


@pytest.mark.parametrize("line", ["folder\t/x\t1", "nonsense", "used\ta\tb", "folder\ta\tb\tc\td\te"])
def test_a_line_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"holdings|invalid literal"):
        read_holdings("h", line)


def test_only_folders_of_weights_are_ever_removed() -> None:
    for path in ("/etc", f"{W}/../x", "/s/weightsx/a/b"):
        with pytest.raises(ValueError, match="not a folder of weights"):
            remove_script([path], state_dir="/s")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    for name in "abcd":
        folder = tmp_path / "weights" / f"org--{name}" / (name * 40)
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"x" * 100)
        if name != "d":
            (folder / ".bringup-manifest.json").write_text("{}")
    for number, name in ((1, "a"), (2, "b")):
        generation = tmp_path / "deployments/chat" / f"g{number}"
        generation.mkdir(parents=True)
        (generation / "command.sh").write_text(f"vllm serve {tmp_path}/weights/org--{name}/{name * 40}\n")
    (tmp_path / "deployments/chat/current").symlink_to("g2")
    return tmp_path


def told(state: Path) -> Held:
    done = sh(holdings_script(state_dir=str(state)))
    assert done.returncode == 0, done.stderr
    return read_holdings("h", done.stdout)


def test_a_host_tells_what_it_holds_and_an_old_generation_counts_as_much_as_the_current_one(state: Path) -> None:
    found = {one.repo: one for one in told(state).holdings}
    assert found["org/a"].used_by == ("chat/g1",)
    assert found["org/b"].used_by == ("chat/g2",)
    assert found["org/c"].used_by == ()
    assert found["org/c"].bytes == 102
    assert found["org/d"].sealed_at is None
    assert found["org/d"].busy == ("not complete, and written to in the last hour",)
    assert going(told(state)) == {str(state / "weights/org--c" / ("c" * 40))}


def test_a_command_that_cannot_be_read_keeps_everything(state: Path) -> None:
    (state / "deployments/chat/g1/command.sh").unlink()
    (state / "deployments/chat/g1/generation.json").write_text("{}")
    assert told(state).blind == (f"{state}/deployments/chat/g1/command.sh",)
    assert going(told(state)) == set()


def test_what_is_removed_is_gone_and_nothing_else(state: Path) -> None:
    path = state / "weights/org--c" / ("c" * 40)
    done = sh(remove_script([str(path)], state_dir=str(state)))
    assert done.stdout == f"gone {path}\n"
    assert sorted(one.name for one in (state / "weights").iterdir()) == ["org--a", "org--b", "org--d"]


def test_without_weights_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert told(tmp_path) == Held("h")
