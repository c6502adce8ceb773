"""Every function of the facts that is called `parse_...` and takes texts, also those that are added after this test."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inventory.facts
from tests.answered import HOSTS

REFUSES = {"parse_list", "parse_range", "parse_mask"}
"""Lists of CPUs: they raise `ValueError` for what is none, and their callers say what is unknown then."""

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
LONGEST = 3000


def parsers() -> Iterator[Callable[..., object]]:
    for module in pkgutil.walk_packages(inventory.facts.__path__, "inventory.facts."):
        if ".sh." in module.name:  # programs for hosts
            continue
        for name, function in vars(importlib.import_module(module.name)).items():
            if name.startswith("parse_") and inspect.isfunction(function) and takes_texts(function):
                yield function


def takes_texts(function: Callable[..., object]) -> bool:
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    return bool(needed) and all(one.annotation == "str" and one.name != "name" for one in needed)


def texts() -> list[str]:
    """What commands of the fixture hosts printed, and captures of real hosts where they are at hand."""
    folders = (*HOSTS.iterdir(), *(CORPUS.iterdir() if CORPUS.is_dir() else ()))
    files = (path for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*")) if path.is_file())
    return [path.read_text(encoding="utf-8", errors="replace")[:LONGEST] for path in files if path.stat().st_size]


PARSERS = sorted({f"{one.__module__}.{one.__name__}": one for one in parsers()}.items())
TEXTS = texts()


def arguments(function: Callable[..., object], text: str) -> list[str]:
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    return [text] * len(needed)


def test_the_scan_finds_them() -> None:
    names = {name.rpartition(".")[2] for name, _ in PARSERS}
    assert {"parse_xml", "parse_lscpu", "parse_ibstat", "parse_matrix", "parse_kfd", "parse_links"} <= names


@given(text=st.sampled_from(TEXTS), seed=st.integers(0, 1 << 30), shuffle=st.booleans())
@settings(max_examples=30, deadline=None)
def test_no_parser_raises(text: str, seed: int, shuffle: bool) -> None:  # noqa: FBT001
    """Cut at any place, at either end; its lines in any order."""
    dice = random.Random(seed)  # noqa: S311
    begin, end = sorted((dice.randrange(len(text) + 1), dice.randrange(len(text) + 1)))
    lines = text[begin:end].splitlines(keepends=True)
    if shuffle:
        dice.shuffle(lines)
    said = "".join(lines)
    for name, function in PARSERS:
        if name.rpartition(".")[2] not in REFUSES:
            function(*arguments(function, said))


@given(text=st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_no_parser_raises_for_any_text(text: str) -> None:
    for name, function in PARSERS:
        if name.rpartition(".")[2] not in REFUSES:
            function(*arguments(function, text))


@pytest.mark.parametrize("name", sorted(REFUSES))
@given(text=st.text(alphabet="0123456789,-:^abcf x\n", max_size=30))
@settings(max_examples=60, deadline=None)
def test_lists_of_cpus_are_read_or_refused(name: str, text: str) -> None:
    function = next(one for full, one in PARSERS if full.rpartition(".")[2] == name)
    try:
        function(text)
    except ValueError:
        return
