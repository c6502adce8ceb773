"""Who is put last: a host that comes forward much slower than others, with others behind it."""

from __future__ import annotations

from launch.spread.laggard import Laggards

GB = 1 << 30
RING = ("a", "b", "c", "d")


def looks(rates: dict[str, float], seconds: int, ring: tuple[str, ...] = RING, **begin: int) -> list[str]:
    """Whom a look once a second finds, of hosts that come forward by `rates`, in GB a second."""
    one = Laggards()
    found = []
    for second in range(seconds):
        verified = {host: begin.get(host, 0) + int(rates[host] * second * GB) for host in ring}
        if host := one.look(float(second), verified, ring):
            found.append(host)
    return found


def test_all_at_one_pace_nobody_is_slow() -> None:
    assert looks(dict.fromkeys(RING, 1.0), 60, a=100 * GB) == []


def test_a_slow_host_in_the_middle_is_found_once() -> None:
    assert looks({"a": 0, "b": 1.0, "c": 0.1, "d": 0.1}, 60, a=100 * GB) == ["c"]


def test_the_last_one_holds_up_nobody() -> None:
    assert looks({"a": 0, "b": 1.0, "c": 1.0, "d": 0.1}, 60, a=100 * GB) == []


def test_the_source_is_never_put_last() -> None:
    assert looks({"a": 0, "b": 0.1, "c": 0.1, "d": 0.1}, 60, a=100 * GB) == []


def test_a_moment_is_no_sign_and_neither_are_few_bytes() -> None:
    assert looks({"a": 0, "b": 1.0, "c": 0.1, "d": 0.1}, 6, a=100 * GB) == []
    assert looks({"a": 0, "b": 0.01, "c": 0.001, "d": 0.001}, 20, a=GB // 100) == []


def test_nobody_is_found_where_nobody_is_looked_at() -> None:
    assert Laggards().look(100.0, {}, ()) is None
