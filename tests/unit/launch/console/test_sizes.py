from __future__ import annotations

import pytest

from launch.console.sizes import counted, cpu_set, size


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1 << 30, "1 GiB"), (957 << 30, "957 GiB"), (29_800_000_000_000, "27.1 TiB")],
)
def test_size(number: int, text: str) -> None:
    assert size(number) == text


@pytest.mark.parametrize(
    ("cpus", "text"),
    [((), ""), ((3,), "3"), ((0, 1, 2, 3, 8), "0-3,8"), ((0, 2, 4, 6), "0-6:2"), ((0, 2), "0,2"), ((1, 2, 4), "1-2,4")],
)
def test_cpu_set(cpus: tuple[int, ...], text: str) -> None:
    assert cpu_set(cpus) == text


def test_counted() -> None:
    assert counted(["a", "b", "a"]) == "2x a, 1x b"
    assert counted([]) == ""
