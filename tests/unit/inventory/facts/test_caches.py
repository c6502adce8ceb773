from __future__ import annotations

import json

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.caches import parse_found, read_caches
from inventory.facts.host import CacheFolder, Caches
from tests.answered import Said, answers

TUNED = "vllm/flashinfer_autotune_cache/0.7.2/100a/ab/autotune_configs_dp0_rank0.json"
STAMP = {"vllm": "0.33.0", "torch": "2.14.0", "other": "x", "environment": {"VLLM_A": "1", "B": 2}}
ABSENT: Said = (2, "ls: cannot access '/s/caches': No such file or directory")
HOST: dict[str, Said] = {
    "caches.folder": "vllm\n",
    "caches.stamp": json.dumps(STAMP),
    "caches.artefacts": f"any ./vllm/x\n./{TUNED}\n",
}


def test_what_ranks_made_and_with_what() -> None:
    assert read_caches(answers(HOST)) == Caches(
        empty=False,
        artefacts=(TUNED,),
        stamp=(("vllm", "0.33.0"), ("torch", "2.14.0")),
        environment=(("B", "2"), ("VLLM_A", "1")),
    )


def test_no_folder_and_no_stamp_are_answers() -> None:
    assert read_caches(answers({**HOST, "caches.folder": ABSENT})) == Caches(empty=True, artefacts=(), stamp=None)
    bare = read_caches(answers({**HOST, "caches.stamp": (1, "cat: No such file or directory"), "caches.artefacts": ""}))
    assert bare == Caches(empty=True, artefacts=(), stamp=None)


@pytest.mark.parametrize("said", [(2, "ls: cannot open directory: Permission denied")])
def test_a_folder_that_may_not_be_read_is_unknown(said: Said) -> None:
    found = read_caches(answers({**HOST, "caches.folder": said}))
    assert isinstance(found, Unknown)
    assert found.why is Why.REFUSED
    assert isinstance(read_caches(answers({})), Unknown)


def test_each_build_has_a_folder_with_a_stamp_of_its_own() -> None:
    pages: dict[str, Said] = {
        "caches.stamps.1": f"/s/caches/ab\n{json.dumps(STAMP)}",
        "caches.stamps.2": (1, "/s/caches/cd\ncat: Permission denied"),
        "caches.stamps.3": "/s/caches/ef\nno stamp",
    }
    found = read_caches(answers({**HOST, **pages}))
    assert isinstance(found, Caches)
    assert found.folders == (
        CacheFolder("/s/caches/ab", (("vllm", "0.33.0"), ("torch", "2.14.0")), (("B", "2"), ("VLLM_A", "1"))),
    )


def test_what_earlier_starts_measured_of_memory() -> None:
    line = json.dumps({"key": "k", "gpu": "GB200", "bytes": 9, "free_bytes": 10, "workers": 4})
    lines = f"{line}\nno json\n{json.dumps({'key': 'k', 'gpu': 'GB200', 'bytes': -1})}\n"
    found = read_caches(answers({**HOST, "caches.memory": lines}))
    assert isinstance(found, Caches)
    assert found.kv_memory == (("k", "GB200", 9, 10, 4),)


def test_paths_as_find_prints_them() -> None:
    assert parse_found("any ./x\n./b\na/c\n\n") == ("a/c", "b")
