"""For the whole suite."""

from __future__ import annotations

import os

import pytest

MOST_WORKERS = 8


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers a core: tests with real servers and lab hosts mostly wait for time to pass."""
    return min(2 * (os.cpu_count() or 1), MOST_WORKERS)
