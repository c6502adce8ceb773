from __future__ import annotations

import os

from launch.standin.metrics import Counters, escaped


def test_counters_are_shared_with_forks_and_summed() -> None:
    counters = Counters(2, range(4, 6))
    counters.add(0, 5, "requests", 2)
    pid = os.fork()
    if pid == 0:
        counters.add(1, 5, "requests", 3)
        os._exit(0)
    os.waitpid(pid, 0)
    assert counters.total(5, "requests") == 5
    assert counters.total(4, "requests") == 0
    counters.add(0, 5, "requests", -2)
    assert counters.total(5, "requests") == 3


def test_a_headless_host_has_no_counters() -> None:
    Counters(0, range(0))


def test_labels_are_escaped() -> None:
    assert escaped('a"b\\c\nd') == 'a\\"b\\\\c\\nd'
