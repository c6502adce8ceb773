"""The fleet table on the fixture hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from inventory.errors import HostUnreachable
from inventory.schema import Host
from launch.console.report import print_table
from launch.hosts.bundles import replayed
from launch.hosts.facts_table import COLUMNS, fact_rows
from launch.hosts.gather import Answered
from tests.answered import HOSTS


@pytest.fixture(scope="module")
def answered() -> Answered:
    return replayed(HOSTS, "all")


def rows(answered: Answered) -> dict[str, dict[str, str]]:
    columns, found = fact_rows(answered, answered.facts())
    assert columns == COLUMNS
    return {row[0]: dict(zip(columns, row, strict=True)) for row in found}


@pytest.mark.parametrize(
    ("host", "cells"),
    [
        ("h200-hgx", {"gpus": "8x H200 140 GiB", "cores/2+N": "112/10", "numa": "2", "driver": "580.95.05"}),
        ("h200-hgx", {"nics": "8x 400G IB, 1x 25G RoCE (PXB)"}),
        ("dgx-spark", {"nics": "2x 200G RoCE (NODE)"}),
        ("mi355x-8x", {"nics": "8x 400G RoCE (PIX)"}),
        ("l40s-4x", {"nics": "1x 50G, 2x 25G"}),
        ("gb200-tray", {"gpus": "4x GB200 185 GiB", "cores/2+N": "144/6", "numa": "2+4", "memory": "957 GiB"}),
        ("dgx-spark", {"gpus": "1x GB10", "cores/2+N": "20/3"}),
        ("mi355x-8x", {"gpus": "8x MI355X 288 GiB", "systemd": "255"}),
        ("cpu-only", {"gpus": "none", "driver": "-", "cores/2+N": "8/-", "findings": "-"}),
        ("broken-driver", {"gpus": "?", "driver": "?", "cores/2+N": "48/?"}),
    ],
)
def test_a_row(answered: Answered, host: str, cells: dict[str, str]) -> None:
    row = rows(answered)[host]
    assert {name: row[name] for name in cells} == cells


def test_an_unknown_fact_says_why(answered: Answered) -> None:
    assert rows(answered)["broken-driver"]["findings"].startswith("gpus unknown: 4 NVIDIA GPUs on the PCI bus")


def test_a_silent_host_is_a_row_with_the_reason() -> None:
    error = HostUnreachable("no TCP connection", id="timeout", observed="10 s")
    silent = Answered({"tray1": Host(name="tray1")}, {}, {"tray1": error})
    row = rows(silent)["tray1"]
    assert (row["gpus"], row["cores/2+N"], row["findings"]) == ("no answer", "?", "no TCP connection: 10 s")


def test_one_line_a_host_in_a_pipe(answered: Answered, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(*fact_rows(answered, answered.facts()), one_line=True)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["host", *answered.hosts]
    assert "Driver/library version mismatch" in lines[1]  # nothing is cut


def test_the_order_is_the_selections() -> None:
    assert list(rows(replayed(Path(HOSTS), "l40s-4x,cpu-only"))) == ["l40s-4x", "cpu-only"]
