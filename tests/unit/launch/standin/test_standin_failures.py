from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from launch.standin.failures import FAILURES, VARIABLE, Failures, Leaves, Phase, Process, Then, read
from launch.standin.log import Fault, Log
from launch.standin.phases import DEFAULTS, FIXED

LOG = Log("EngineCore")


def test_entries_name_arguments_and_ranks() -> None:
    first, second = read({VARIABLE: "oom-at-load:9.50@3, never-joins"})
    assert (first.argument, first.rank, second.rank) == ("9.50", 3, None)
    assert "Tried to allocate 9.50 GiB" in first.text(3)
    assert read({}) == ()


def test_a_default_argument_is_filled_in() -> None:
    (entry,) = read({VARIABLE: "oom-at-load"})
    assert "Tried to allocate 7.00 GiB" in entry.text(0)


@pytest.mark.parametrize("text", ["oom", "oom-at-load@", "oom-at-load@-1", "oom-at-load@a"])
def test_a_typo_ends_the_program(text: str) -> None:
    if text.endswith("@"):  # an empty rank is every rank
        assert read({VARIABLE: text})[0].rank is None
        return
    with pytest.raises(SystemExit, match=VARIABLE):
        read({VARIABLE: text})


def test_a_failure_strikes_its_rank_process_and_phase_only() -> None:
    failures = Failures({VARIABLE: "oom-at-load@3"})

    def struck(process: Process, phase: Phase, rank: int) -> bool:
        return any(failures.due(process, phase, (rank,)))

    assert struck(Process.WORKER, Phase.LOAD, 3)
    assert not struck(Process.WORKER, Phase.LOAD, 2)
    assert not struck(Process.ENGINE, Phase.LOAD, 3)
    assert not struck(Process.WORKER, Phase.DEVICE, 3)


def test_raise_hang_exit_and_warn(capfd: pytest.CaptureFixture[str]) -> None:
    async def strike(name: str, process: Process, phase: Phase) -> None:
        await asyncio.wait_for(Failures({VARIABLE: name}).strike(process, phase, (4,), LOG), 0.05)

    with pytest.raises(Fault, match="CUDA out of memory"):
        asyncio.run(strike("oom-at-load@4", Process.WORKER, Phase.LOAD))
    with pytest.raises(TimeoutError):
        asyncio.run(strike("never-joins", Process.ENGINE, Phase.JOIN))
    with pytest.raises(Leaves):
        asyncio.run(strike("exits-0", Process.MAIN, Phase.READY))
    asyncio.run(strike("shm-wait", Process.ENGINE, Phase.READY))
    assert "No available shared memory broadcast block found in 60 seconds" in capfd.readouterr().out


def test_every_failure_and_phase_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "stand-in.md").read_text()
    assert [name for name in FAILURES if f"`{name}`" not in page and f"`{name}[:" not in page] == []
    assert [name for name in (*DEFAULTS, *FIXED) if not re.search(rf"\b{name}\b", page)] == []


def test_every_entry_can_be_seen() -> None:
    """A failure that raises or warns has a text; every other one changes what a process does."""
    for name, failure in FAILURES.items():
        assert failure.text or failure.then not in (Then.RAISE, Then.WARN) or failure.phase is Phase.PARSE, name
        assert "{argument}" not in failure.text or failure.argument, name
