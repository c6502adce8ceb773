"""Commands and units of whole gangs with what they are bound to: a change of one shows in review.

Write them anew with `BRINGUP_WRITE_GOLDEN=1 pytest tests/golden/test_pins.py`, and read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inventory.facts.base import NOT_ASKED, Maybe
from inventory.facts.host import NumaBind
from launch.building.unit import UnitSettings, command_file, unit_file
from launch.planned.wanted import Wanted
from launch.request import Request
from launch.vllm_args import check
from tests.unit.launch.real_gangs import binds, decided, gang

FOLDER = Path(__file__).parent / "pins"
CASES: dict[str, tuple[Request, str, int, Maybe[NumaBind]]] = {
    "gb200-two-trays": (Request(model="deepseek-v4-pro"), "gb200-tray", 2, binds(0, 1)),
    "gb200-numactl-unknown": (Request(model="gpt-oss-120b"), "gb200-tray", 1, NOT_ASKED),
    "h200-two-sockets": (Request(model="deepseek-v4-pro"), "h200-hgx", 1, binds(0, 1)),
    "h200-no-numactl": (Request(model="glm-5"), "h200-hgx", 1, NumaBind(numactl=False)),
    "h200-latency": (
        Request(model="glm-5", wanted=Wanted(profile="latency")),
        "h200-hgx",
        1,
        binds(0, 1, memory=False),
    ),
    "cpu": (Request(model="tiny-dense"), "cpu-only", 1, NOT_ASKED),
}


def text_of(name: str) -> str:
    request, kind, count, numa_bind = CASES[name]
    decision = decided(request, *gang(kind, count, numa_bind))
    parts = []
    for command in decision.commands:
        assert check(command.argv[1:], dict(command.env), decision.choice.vllm) == ()
        held = command.affinity, command.memory_nodes
        settings = UnitSettings("trial", "0123456789ab", "/s/deployments/trial/0123456789ab", "gpu", *held)
        parts += [f"## {command.host}\n", command_file(command, settings), unit_file(settings)]
    reasons = [f"{one}\n" for one in decision.placement.reasons if one.decision.startswith(("pinning", "API servers"))]
    return "\n".join([*parts, "## why\n", "".join(reasons)])


@pytest.mark.parametrize("name", list(CASES))
def test_what_reaches_the_hosts_is_what_was_reviewed(name: str) -> None:
    path, text = FOLDER / f"{name}.txt", text_of(name)
    if os.environ.get("BRINGUP_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_every_golden_file_has_a_case() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(CASES)
