"""The measuring itself: what it says of commands whose cost is known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.measure import CommandFailed, Run, in_turn, run, table

MIB = 1 << 20


def python(code: str, tmp_path: Path) -> Run:
    return run([sys.executable, "-S", "-c", code], env={}, said=tmp_path / "said")


def test_waiting_costs_wall_and_no_cpu(tmp_path: Path) -> None:
    found = python("import time; time.sleep(0.5)", tmp_path)
    assert found.wall_s > 0.5
    assert found.cpu_s < found.wall_s


def test_the_cpu_and_memory_of_children_count(tmp_path: Path) -> None:
    child = "import time; held = bytearray(100 << 20)\nwhile time.process_time() < 0.3: pass"
    found = python(f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {child!r}])", tmp_path)
    assert found.cpu_s > 0.3
    assert found.memory_bytes > 100 * MIB


def test_a_tool_that_fails_has_no_time(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="ended with 3: it broke"):
        python("import sys; print('it broke'); sys.exit(3)", tmp_path)


def test_every_tool_runs_once_a_round_and_begins_in_turn() -> None:
    order: list[str] = []

    def tool(name: str) -> Run:
        order.append(name)
        return Run(float(len(order)), 1, 1)

    found = in_turn({"a": lambda: tool("a"), "b": lambda: tool("b")}, 2)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert {name: len(runs) for name, runs in found.items()} == {"a": 2, "b": 2}
    assert [one.wall_s for one in found["a"]] == [4.0, 5.0]  # the first round only warms up


def test_ratios_are_to_the_base() -> None:
    text = table({"slow": [Run(3, 4, 5 * MIB)] * 3, "base": [Run(1, 2, MIB)] * 3}, "base")
    _, base, slow = [line.split() for line in text.splitlines()]
    assert base == ["base", "1.00", "1.00", "1.00", "2.00", "1.00", "1", "1.00"]
    assert slow == ["slow", "3.00", "3.00", "3.00", "4.00", "2.00", "5", "5.00"]
