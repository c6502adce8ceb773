"""Holds the product's parsers against captures of real hosts.

    uv run python -m tests.corpus --corpus DIR

Puts every item of DIR/truth.json through them, prints a line for each value that differs and closes with
`N of M items right, K values wrong`. Items in tests/corpus_disputed.yaml count as right where the product says what the
evidence there says. Exit status 0 if all are right.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inventory.facts.cpulist import parse_list
from inventory.yamlfile import read_plain
from tests.corpus_forms import Either, Size, Unordered
from tests.corpus_readers import READERS

DISPUTED = Path(__file__).with_name("corpus_disputed.yaml")
# Remarks of whoever collected the captures: no parser could produce them.
REMARKS = frozenset(
    {"note", "note_cuda", "cores_note", "description", "project_expectation", "host", "field_order"}
    # The capture's own lines, repeated.
    | {"raw", "topo_header", "lscpu_lines", "options", "env"}
    # What a wrong way to count would give.
    | {"naive_core_product"}
)
# Expected outputs of other programs: null is what they did not print, while the saved tree itself tells it.
SILENT = (".allowed", ".all_expected", ".sysfs")
MISSING = object()


@dataclass(frozen=True, slots=True)
class Difference:
    item: str
    path: str
    expected: object
    found: object

    def __str__(self) -> str:
        found = "nothing" if self.found is MISSING else repr(self.found)
        return f"{self.item} {self.path}: expected {self.expected!r}, found {found}"


def differences(item: str, expected: object, found: object, path: str = "") -> Iterator[Difference]:
    """Every value of `expected` that `found` lacks or has otherwise; null means that the capture does not tell."""
    if isinstance(found, Size | Either | Unordered):
        found = found.resolved(expected)
    if isinstance(expected, Mapping):
        yield from mapping_differences(item, expected, found, path)
    elif isinstance(expected, list):
        yield from list_differences(item, expected, found, path)
    elif expected is None:
        if found not in (None, MISSING) and not path.startswith(SILENT):
            yield Difference(item, path, expected, found)
    elif not same(expected, found):
        yield Difference(item, path, expected, found)


def same(expected: object, found: object) -> bool:
    """Equal, or the same set of CPUs: `0,1` is `0-1`."""
    if type(expected) is not type(found):
        return False
    return expected == found or (isinstance(expected, str) and same_cpus(expected, str(found)))


def same_cpus(expected: str, found: str) -> bool:
    try:
        return parse_list(expected) == parse_list(found)
    except ValueError:
        return False


def mapping_differences(item: str, expected: Mapping[str, Any], found: object, path: str) -> Iterator[Difference]:
    if not isinstance(found, Mapping):
        yield Difference(item, path or ".", dict(expected), found)
        return
    for key, value in expected.items():
        if key not in REMARKS:
            yield from differences(item, value, found.get(key, MISSING), f"{path}.{key}")
    if expected and all(key.isdecimal() for key in expected):
        # Numbered things: one too many is wrong as well.
        yield from (Difference(item, f"{path}.{key}", None, found[key]) for key in found if key not in expected)


def list_differences(item: str, expected: list[Any], found: object, path: str) -> Iterator[Difference]:
    if not isinstance(found, list | tuple) or len(found) != len(expected):
        yield Difference(item, path, expected, found)
        return
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        yield from differences(item, one, other, f"{path}[{number}]")


def check(item: str, entry: Mapping[str, Any], corpus: Path) -> list[Difference]:
    """What the product reads wrong of one item; a kind that it does not know is wrong as a whole."""
    reader = READERS.get(entry["kind"])
    if reader is None:
        return [Difference(item, ".", f"a reader for {entry['kind']}", MISSING)]
    folder = corpus / entry["dir"]
    try:
        found = reader(folder, tuple(entry["files"]))
    except Exception as error:  # noqa: BLE001  (a parser that raises is the worst difference of all)
        return [Difference(item, ".", "no exception", f"{type(error).__name__}: {error}")]
    return list(differences(item, entry["truth"], found))


def disputed(item: str, wrong: list[Difference], disputes: Mapping[str, Any]) -> list[Difference]:
    """Without the values whose expectation is shown to be wrong."""
    values = disputes.get(item, {}).get("values", {})
    return [one for one in wrong if one.path not in values or values[one.path] != plain(one.found)]


def plain(found: object) -> object:
    return None if found is MISSING else found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="folder with truth.json")
    corpus = parser.parse_args(arguments).corpus
    truth = json.loads((corpus / "truth.json").read_text(encoding="utf-8"))
    disputes = read_plain(DISPUTED)
    assert isinstance(disputes, dict)
    right = wrong_values = 0
    for item, entry in truth.items():
        wrong = disputed(item, check(item, entry, corpus), disputes)
        right += not wrong
        wrong_values += len(wrong)
        sys.stdout.writelines(f"{one}\n" for one in wrong)
    sys.stdout.write(f"{right} of {len(truth)} items right, {wrong_values} values wrong\n")
    return 0 if right == len(truth) else 1


if __name__ == "__main__":
    sys.exit(main())
