"""The product's parsers against captures of real hosts, where the collection is at hand; and the comparison itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inventory.yamlfile import read_plain
from tests import corpus
from tests.corpus_forms import Either, Size, Unordered

CORPUS = Path(__file__).resolve().parents[4] / "../shared/corpus"
TRUTH: Mapping[str, Any] = (
    json.loads((CORPUS / "truth.json").read_text(encoding="utf-8")) if (CORPUS / "truth.json").exists() else {}
)


@pytest.mark.skipif(not TRUTH, reason="needs the collection of captures at ../shared/corpus")
@pytest.mark.parametrize("item", TRUTH or ["none"])
def test_a_capture(item: str) -> None:
    disputes = read_plain(corpus.DISPUTED)
    assert isinstance(disputes, dict)
    wrong = corpus.disputed(item, corpus.check(item, TRUTH[item], CORPUS), disputes)
    assert not wrong, "\n".join(map(str, wrong))


def test_a_dispute_says_what_the_capture_says() -> None:
    disputes = read_plain(corpus.DISPUTED)
    assert isinstance(disputes, dict)
    assert all(set(one) == {"evidence", "values"} and one["values"] for one in disputes.values())


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A collection of one capture, right but for what a test changes."""
    (tmp_path / "numactl" / "two").mkdir(parents=True)
    (tmp_path / "numactl" / "two" / "numactl-H.txt").write_text(
        "node 0 cpus: 0 1 2 3\nnode 0 size: 64 MB\nnode 1 cpus:\nnode 1 size: 32 MB\n"
    )
    write(tmp_path, {"nodes": {"0": {"cpus": "0-3", "mb": 64}, "1": {"cpus": "", "mb": 32}}, "cpu_less": [1]})
    return tmp_path


def write(folder: Path, truth: object, kind: str = "numactl") -> None:
    item = {"kind": kind, "dir": "numactl/two", "files": ["numactl-H.txt"], "truth": truth}
    (folder / "truth.json").write_text(json.dumps({"two": item}))


def test_it_closes_with_the_score(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert corpus.main(["--corpus", str(own)]) == 0
    assert capsys.readouterr().out == "1 of 1 items right, 0 values wrong\n"


@pytest.mark.parametrize(
    ("truth", "line"),
    [
        ({"cpu_less": [0]}, "two .cpu_less[0]: expected 0, found 1"),
        ({"cpu_less": []}, "two .cpu_less: expected [], found [1]"),
        ({"nodes": {"0": {"mb": 65}, "1": {}}}, "two .nodes.0.mb: expected 65, found 64"),
        ({"nodes": {"0": {}}}, "two .nodes.1: expected None, found {'cpus': '', 'mb': 32}"),
        ({"nodes": {"0": {"mb": None}, "1": {}}}, "two .nodes.0.mb: expected None, found 64"),
        ({"colour": "red"}, "two .colour: expected 'red', found nothing"),
        ({"sockets": True}, "two .sockets: expected True, found 1"),
    ],
)
def test_every_wrong_value_is_a_line(own: Path, capsys: pytest.CaptureFixture[str], truth: object, line: str) -> None:
    write(own, truth)
    assert corpus.main(["--corpus", str(own)]) == 1
    assert capsys.readouterr().out == f"{line}\n0 of 1 items right, 1 values wrong\n"


def test_a_kind_without_a_reader_and_a_reader_that_raises_are_wrong(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(own, {}, kind="tea-leaves")
    assert corpus.main(["--corpus", str(own)]) == 1
    assert "a reader for tea-leaves" in capsys.readouterr().out
    write(own, {})
    shutil.rmtree(own / "numactl")
    assert corpus.main(["--corpus", str(own)]) == 1
    assert "FileNotFoundError" in capsys.readouterr().out


def test_one_value_in_several_forms() -> None:
    size = Size(46 << 30)
    assert [size.resolved(form) for form in ("46GiB", "47104MiB", 5, None)] == ["46GiB", "47104MiB", 46 << 30, 46 << 30]
    assert (Either([1], 1).resolved(7), Either([1], 1).resolved([])) == (1, [1])
    assert Unordered.of("ba").resolved(["b", "a"]) == ["b", "a"]
    assert Unordered.of("ba").resolved(["b", "c"]) == ["a", "b"]
