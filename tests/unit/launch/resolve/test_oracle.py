"""What we resolve against the public catalogue's own builder, where its resolved cases are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launch.catalogue.find import Catalogue
from tests import oracle

SHARED = Path(__file__).resolve().parents[4] / "../shared"
RECIPES = [SHARED / "recipes", SHARED / "recipes-synth"]
FILES = ("open.jsonl", "open-choice.jsonl", "open-install.jsonl")


@pytest.mark.parametrize("name", FILES)
def test_every_unmarked_case_agrees(name: str) -> None:
    path = SHARED / "oracle" / name
    if not path.exists():
        pytest.skip(f"{name} is not there")
    catalogue = Catalogue.of(RECIPES, ours=False)
    lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) > 400
    differing = [(line["id"], found) for line in lines if (found := oracle.compare(catalogue, line))]
    assert differing == []


def test_differences_are_found_where_they_are() -> None:
    want = {"processes": [{"env": {"A": 1}, "argv": ["a", "b"]}], "n": 1}
    have = {"processes": [{"env": {"A": "1"}, "argv": ["b", "a"]}], "n": 2}
    found = list(oracle.differences(oracle.normal(want), oracle.normal(have)))
    assert [one.partition(":")[0] for one in found] == [".n", ".processes[0].argv"]
