"""One set out of what hosts list: every rank's own files or none, and nothing that a host may not name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launch.caches.merge import CacheFile, CacheSet, lacking, merged, rank_of, read_listing
from launch.caches.spread import Spread

AOT = "vllm/torch_compile_cache/torch_aot_compile/ab12"
TUNED = "vllm/flashinfer_autotune_cache/0.7.2/100a/cd"
OWNERS = {(0, dp): "tray1" if dp < 8 else "tray2" for dp in range(16)}
SUM = "0" * 63


def one(path: str, content: int = 0) -> CacheFile:
    return CacheFile(path, content, 7, f"{SUM}{content}")


def model(dp: int, content: int = 0, family: str = AOT) -> CacheFile:
    return one(f"{family}/rank_0_{dp}/model", content)


KERNEL = one("triton/K/k.cubin")
LISTED = {
    "tray1": [*(model(dp) for dp in range(8)), KERNEL],
    "tray2": [*(model(dp) for dp in range(8, 16)), one("triton/L/k.cubin")],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (f"{AOT}/rank_0_8/model", (AOT, (0, 8))),
        ("vllm/torch_compile_cache/0123456789/rank_3_0/backbone/a.py", ("vllm/torch_compile_cache/0123456789", (3, 0))),
        (f"{TUNED}/autotune_configs_dp8_rank1.json", (TUNED, (1, 8))),
        (f"{AOT}/inductor_cache/ab/x.py", None),
        ("triton/rank_0_0/x", None),
    ],
)
def test_whose_a_file_is(path: str, found: object) -> None:
    assert rank_of(path) == found


def test_every_rank_gives_its_own_and_kernels_come_once() -> None:
    made = merged(LISTED, OWNERS)
    assert [len(made.sources[host]) for host in ("tray1", "tray2")] == [9, 9]
    assert made.uneven == ()
    assert len(made.files) == 18
    assert len(lacking(made, "tray1", LISTED["tray1"], OWNERS)) == 9
    assert lacking(made, "tray3", [], OWNERS) == list(made.files), "a host that comes later is given everything"


def test_a_rank_that_lacks_its_file_leaves_its_folder_out_and_nothing_else() -> None:
    listed = {"tray1": LISTED["tray1"], "tray2": LISTED["tray2"][1:]}
    made = merged({**listed, "tray1": [*listed["tray1"], one(f"{AOT}/inductor_cache/x.py")]}, OWNERS)
    assert made.uneven == ((AOT, ((0, 8),)),)
    assert [file.path for file in made.files] == ["triton/K/k.cubin", "triton/L/k.cubin"]


def test_what_another_host_has_of_a_rank_counts_only_where_its_own_has_nothing() -> None:
    stale = {"tray1": [*LISTED["tray1"], model(8, 5)], "tray2": LISTED["tray2"]}
    made = merged(stale, OWNERS)
    assert next(file for file in made.files if file.path.endswith("rank_0_8/model")).size == 0
    assert model(8) in lacking(made, "tray1", stale["tray1"], OWNERS), "the old one is replaced"


def test_a_host_that_is_new_to_the_gang_is_given_its_ranks_by_those_that_have_them() -> None:
    whole = [*LISTED["tray1"], *LISTED["tray2"]]
    made = merged({"tray1": whole, "tray2": []}, OWNERS)
    assert made.uneven == ()
    assert len(lacking(made, "tray2", [], OWNERS)) == len(whole)


def test_one_kernel_that_two_hosts_compiled_differently_stays_on_both() -> None:
    other = one(KERNEL.path, 9)
    listed = {"tray1": [KERNEL], "tray2": [other]}
    made = merged(listed, OWNERS)
    assert made.files == (KERNEL,)
    assert lacking(made, "tray2", [other], OWNERS) == []


def test_the_same_files_have_the_same_digest_whoever_lists_them() -> None:
    turned = merged(dict(reversed(LISTED.items())), OWNERS)
    assert turned.digest == merged(LISTED, OWNERS).digest
    assert merged({**LISTED, "tray2": []}, OWNERS).digest != turned.digest


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "/etc/passwd",
        "triton/../../x",
        "triton//x",
        "triton/./x",
        "triton",
        "home/x",
        "vllm/startup_plan/x.json",
        "triton/a\nb",
        "",
    ],
)
def test_a_host_cannot_name_a_file_elsewhere(path: str) -> None:
    with pytest.raises(ValueError, match="not a file of a cache"):
        read_listing(json.dumps({"files": [[path, 1, 1, SUM + "0"]]}))


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"files": 3}', '{"files": [[1]]}', '{"files": [["triton/x", -1, 1, "%s"]]}' % (SUM + "0"), "{}"],
)
def test_what_is_no_listing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_listing(text)


def test_a_file_that_is_listed_twice_is_refused() -> None:
    row = ["triton/x", 1, 1, SUM + "0"]
    with pytest.raises(ValueError, match="twice"):
        read_listing(json.dumps({"files": [row, row]}))


paths = st.one_of(
    st.builds(lambda dp, f: f"{AOT}{f}/rank_0_{dp}/model", st.integers(0, 3), st.integers(0, 1)),
    st.builds(lambda dp: f"{TUNED}/autotune_configs_dp{dp}_rank0.json", st.integers(0, 3)),
    st.sampled_from(["triton/a/x", "triton/b/x", f"{AOT}0/inductor_cache/x"]),
)
listings = st.fixed_dictionaries(
    {
        host: st.dictionaries(paths, st.integers(0, 2), max_size=12).map(
            lambda told: [one(path, content) for path, content in told.items()]
        )
        for host in ("tray1", "tray2")
    }
)


@settings(deadline=None)
@given(listings)
def test_all_ranks_or_none_and_every_host_ends_with_the_same_ranks(listed: dict[str, list[CacheFile]]) -> None:
    owners = {(0, dp): "tray1" if dp < 2 else "tray2" for dp in range(4)}
    made = merged(listed, owners)
    ranks: dict[str, set[object]] = {}
    for file in made.files:
        if found := rank_of(file.path):
            ranks.setdefault(found[0], set()).add(found[1])
    assert all(held == owners.keys() for held in ranks.values())
    assert held_by(made) <= {host: {file.path for file in files} for host, files in listed.items()}.keys()
    for host, files in listed.items():
        have = {file.path: file.sha256 for file in files}
        have |= {file.path: file.sha256 for file in lacking(made, host, files, owners)}
        of_ranks = {file.path: file.sha256 for file in made.files if rank_of(file.path)}
        assert {path: have[path] for path in of_ranks} == of_ranks
        assert {file.path for file in made.files} <= have.keys()


def held_by(made: CacheSet) -> set[str]:
    return {host for host, files in made.sources.items() if files}


def test_folders_of_earlier_layouts_are_counted_and_not_all_told() -> None:
    uneven = tuple((f"{AOT}{number}", ((0, 8),)) for number in range(5))
    told = Spread(CacheSet({}, uneven), {}).sentences
    assert len(told) == 4
    assert told[-1] == "3 more folders lack ranks of this layout"
