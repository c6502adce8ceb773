"""Who fetches what, what it takes and what is refused, as the looks of hosts tell."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from inventory.errors import CheckFailed
from launch.prefetch.look import Asked, Seen, look_script, read_look
from launch.prefetch.manifest import Manifest, ManifestFile
from launch.prefetch.plan import Asking, planned
from launch.prefetch.shares import nowhere, shares_of
from launch.prefetch.source import Fetch, Origin, Source

GB = 1_000_000_000
FILES = tuple(ManifestFile(f"model-{number}.safetensors", GB, f"{number:064x}") for number in range(8))
MANIFEST = Manifest("org/repo", "c" * 40, (*FILES, ManifestFile("config.json", 40, None, "b" * 40)), "the hub")
FREE = 100 * GB


def having(host: str, paths: tuple[str, ...] = (), *, sealed: bool = False, **more: object) -> Seen:
    sizes = MANIFEST.sizes
    sums = {one.path: one.sha256 or "f" * 64 for one in MANIFEST.files}
    return Seen(
        host=host,
        free=FREE,
        manifest=MANIFEST.with_sums(sums) if sealed else None,
        verified={} if sealed else {path: (sizes[path], "1.0", sums[path]) for path in paths},
        files={path: (sizes[path], "1.0") for path in (sizes if sealed else paths)},
        reaches=True,
        python=True,
        **more,  # type: ignore[arg-type]
    )


def asking(seen: Mapping[str, Seen], fetch: Fetch = Fetch.HUB_ONCE, **more: object) -> Asking:
    reaching = tuple(host for host, one in seen.items() if one.reaches)
    made = Asking(MANIFEST, fetch, Source(), {host: f"/w/{host}" for host in seen}, reaching)
    return replace(made, **more)  # type: ignore[arg-type]


def hosts(count: int) -> dict[str, Seen]:
    return {f"tray{number}": having(f"tray{number}") for number in range(1, count + 1)}


def test_shares_are_disjoint_complete_and_about_equal() -> None:
    plan = planned(asking(hosts(3)), hosts(3))
    shares = [set(one.share) for one in plan.hosts]
    assert set().union(*shares) == set(MANIFEST.sizes)
    assert sum(map(len, shares)) == len(MANIFEST.files)
    loads = [sum(MANIFEST.sizes[path] for path in share) for share in shares]
    assert max(loads) - min(loads) <= GB
    assert plan.from_outside == MANIFEST.bytes
    assert plan.pending


def test_a_file_keeps_its_host_whatever_is_missing() -> None:
    whole = shares_of(MANIFEST, ("a", "b", "c"), frozenset(MANIFEST.sizes))
    some = frozenset(list(MANIFEST.sizes)[::2])
    left = shares_of(MANIFEST, ("a", "b", "c"), some)
    assert all(set(paths) <= set(whole[host]) for host, paths in left.items())
    assert set().union(*left.values()) == some


def test_no_more_than_four_hosts_ask_the_hub() -> None:
    plan = planned(asking(hosts(9)), hosts(9))
    assert sum(bool(one.share) for one in plan.hosts) == 4


def test_what_a_host_has_verified_is_not_fetched_from_outside() -> None:
    seen = hosts(2) | {"tray3": having("tray3", tuple(MANIFEST.sizes)[:5])}
    plan = planned(asking(seen), seen)
    assert plan.from_outside == sum(MANIFEST.sizes[path] for path in tuple(MANIFEST.sizes)[5:])
    assert nowhere(MANIFEST, {"a": frozenset()}) == frozenset(MANIFEST.sizes)


def test_nothing_comes_from_outside_where_one_host_has_all_and_a_later_one_is_served_by_it() -> None:
    seen = {"tray1": having("tray1", sealed=True), "tray2": replace(having("tray2"), reaches=False)}
    plan = planned(asking(seen), seen)
    assert [(one.host, one.to_come, one.share) for one in plan.hosts] == [
        ("tray1", 0, ()),
        ("tray2", MANIFEST.bytes, ()),
    ]


def test_complete_everywhere_is_nothing_to_do() -> None:
    seen = {host: having(host, sealed=True) for host in ("tray1", "tray2")}
    assert not planned(asking(seen), seen).pending


def test_written_to_since_it_was_verified_is_not_there() -> None:
    seen = {"tray1": having("tray1", tuple(MANIFEST.sizes))}
    touched = replace(seen["tray1"], files={**seen["tray1"].files, FILES[0].path: (GB, "2.0")})
    assert touched.present(MANIFEST) == frozenset(MANIFEST.sizes) - {FILES[0].path}
    shorter = replace(having("tray1", sealed=True), files={**seen["tray1"].files, FILES[0].path: (GB - 1, "1.0")})
    assert not shorter.is_complete(MANIFEST)


def test_each_fetches_all_that_it_lacks_where_that_was_asked_for() -> None:
    seen = hosts(2)
    plan = planned(asking(seen, Fetch.HUB_EACH), seen)
    assert [len(one.share) for one in plan.hosts] == [len(MANIFEST.files)] * 2


def test_push_goes_to_the_host_that_has_most() -> None:
    seen = hosts(2) | {"tray3": having("tray3", tuple(MANIFEST.sizes)[:2])}
    plan = planned(asking(seen, Fetch.PUSH, reaching=()), seen)
    assert [one.host for one in plan.hosts if one.share] == ["tray3"]


def test_a_host_without_python_takes_nothing_but_with_a_client_of_its_own() -> None:
    seen = {"tray1": replace(having("tray1"), python=False)}
    with pytest.raises(CheckFailed) as caught:
        planned(asking(seen, Fetch.PUSH), seen)
    assert caught.value.id == "spread-python"
    assert planned(asking(seen), seen).pending, "an environment comes with its own Python"
    assert planned(asking(seen, Fetch.PUSH, clients={"tray1": "/env"}), seen).pending


def test_nobody_who_reaches_the_hub_is_said_with_the_way_out() -> None:
    seen = {host: replace(one, reaches=False, why_not="no route") for host, one in hosts(2).items()}
    with pytest.raises(CheckFailed) as caught:
        planned(asking(seen), seen)
    assert caught.value.id == "hub-unreachable"
    assert "no route" in caught.value.observed
    assert "--fetch push" in caught.value.next_command


def test_a_disk_that_is_too_small_is_refused_before_anything_is_changed() -> None:
    seen = {"tray1": replace(having("tray1"), free=MANIFEST.bytes)}
    with pytest.raises(CheckFailed) as caught:
        planned(asking(seen), seen)
    assert caught.value.id == "disk-full"
    # What has come of it already takes no room again.
    seen = {"tray1": replace(having("tray1"), free=MANIFEST.bytes, parts=2 * GB)}
    assert planned(asking(seen), seen).hosts[0].after == 2 * GB


def test_the_time_is_told_at_the_measured_rate_and_else_not() -> None:
    seen = hosts(2)
    assert planned(asking(seen), seen).seconds is None
    known = {host: replace(one, rate=50_000_000) for host, one in seen.items()}
    plan = planned(asking(known), known)
    assert plan.seconds == pytest.approx(80.0, rel=0.01)
    assert planned(asking(known, limit=5_000_000), known).rate == 5_000_000
    one_new = known | {"tray2": seen["tray2"]}
    assert planned(asking(one_new), one_new).seconds is None, "the slowest decides, and nobody knows it"


def test_a_common_folder_must_be_on_all_hosts_and_asks_for_a_load_strategy() -> None:
    source = Source(Origin.FOLDER, "/nfs/model")
    seen = {host: replace(one, has_source=True) for host, one in hosts(2).items()}
    plan = planned(asking(seen, Fetch.SHARED, source=source), seen)
    assert plan.load_strategy == "prefetch"
    assert all(one.after == FREE for one in plan.hosts), "links take no room"
    seen["tray2"] = replace(seen["tray2"], has_source=False)
    with pytest.raises(CheckFailed, match="not on all hosts"):
        planned(asking(seen, Fetch.SHARED, source=source), seen)


def test_weights_on_a_network_are_told() -> None:
    seen = {"tray1": replace(having("tray1"), network="nfs")}
    assert "nfs" in planned(asking(seen), seen).notes[0]


def test_a_look_is_read_as_the_script_writes_it() -> None:
    record = base64.b64encode(json.dumps({"a b": [3, 1_700_000_000_000_000_005, "e" * 64]}).encode()).decode()
    manifest = base64.b64encode(MANIFEST.to_json().encode()).decode()
    answer = (
        f"free\t123\nsystem\tnfs\nmanifest\t{manifest}\nverified\t{record}\nfile\t3\t1700000000.000000005\t./a b\n"
        "part\t8\nsent\t7\t./x\ntool\t/t\npython\tyes\nrate\t99\nreaches\tno timed out\nsource\tyes\n"
    )
    seen = read_look("h", answer)
    assert seen.sums() == {"a b": "e" * 64}
    assert (seen.free, seen.parts, dict(seen.sent), seen.tool, seen.rate) == (123, 4096, {"x": 7}, "/t", 99)
    assert (seen.reaches, seen.why_not, seen.network, seen.has_source) == (False, "timed out", "nfs", True)
    assert seen.manifest == MANIFEST


@pytest.mark.parametrize("answer", ["", "manifest\t!!\nverified\te30=\nfile\tx\ty\n", "verified\tWzFd\n"])
def test_what_cannot_be_read_counts_as_not_there(answer: str) -> None:
    seen = read_look("h", answer)
    assert seen.manifest is None
    assert seen.present(MANIFEST) == frozenset()


def test_an_address_with_a_password_stands_in_no_list_of_processes() -> None:
    script = look_script(Asked("/s", "/s/w", reach="http://u:pass@hub/", proxy="http://u:word@p"))
    before, _, inside = script.partition("<<'END'")
    assert "pass" not in before
    assert "pass" in inside
