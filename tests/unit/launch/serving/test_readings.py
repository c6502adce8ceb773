"""What two looks at `/metrics` say of the time between, from pages as prometheus_client writes them for vLLM."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import BringupError, HostUnreachable
from launch.serving.load import load_rows, look
from launch.serving.readings import loads, quantile, read_page
from tests.unit.launch.serving.gang import GANG

URL = "http://10.2.0.1:8000"


def page(engine: int, *, tokens: float, running: int = 2, usage: float = 0.5, hits: float = 0, slow: float = 0) -> str:
    labels = f'engine="{engine}",model_name="m\\"x"'
    return f"""# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{{labels}}} {running}
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{{labels}}} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{{{labels}}} {usage}
# TYPE vllm:num_preemptions counter
vllm:num_preemptions_total{{{labels}}} 3.0
# TYPE vllm:prefix_cache_queries counter
vllm:prefix_cache_queries_total{{{labels}}} {tokens}
# TYPE vllm:prefix_cache_hits counter
vllm:prefix_cache_hits_total{{{labels}}} {hits}
# TYPE vllm:generation_tokens counter
vllm:generation_tokens_total{{{labels}}} {tokens}
vllm:generation_tokens_created{{{labels}}} 1.7e9
# TYPE vllm:prompt_tokens_cached_by_source counter
vllm:prompt_tokens_cached_by_source_total{{{labels},source="device"}} {hits}
# TYPE vllm:request_success counter
vllm:request_success_total{{{labels},finished_reason="stop"}} 4.0
vllm:request_success_total{{{labels},finished_reason="length"}} 2.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{{{labels},le="0.1"}} {10 - slow}
vllm:time_to_first_token_seconds_bucket{{{labels},le="1.0"}} 10
vllm:time_to_first_token_seconds_bucket{{{labels},le="+Inf"}} 10
vllm:time_to_first_token_seconds_count{{{labels}}} 10
vllm:time_to_first_token_seconds_sum{{{labels}}} 3.0
"""


def test_a_page_is_read_engine_by_engine() -> None:
    first, second = read_page(page(0, tokens=10) + "\n" + page(10, tokens=20).replace("# TYPE", "# was"), URL)
    assert (first.engine, second.engine) == ("0", "10")
    assert first.counters["requests"] == 6, "all reasons together"
    assert first.counters["generation_tokens"] == 10
    assert second.counters["generation_tokens"] == 20
    assert first.sources == {"device": 0.0}


def test_a_page_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_page("<html>502 Bad Gateway</html>", URL)


def test_rates_are_those_between_the_looks() -> None:
    before = read_page(page(0, tokens=100, hits=50), URL)
    after = read_page(page(0, tokens=300, hits=100, usage=0.97), URL)
    (load,) = loads(before, after, 4.0)
    assert load.generation_rate == 50
    assert load.prefix_hit_rate == 0.25
    assert load.preemptions == 0
    assert load.kv_cache_usage == 0.97
    assert load.prompt_rate is None, "the page has no such metric"
    assert load.ttft_p95_s is None, "no request in between"
    assert not load.is_stuck


def test_requests_that_run_without_tokens_are_stuck() -> None:
    same = read_page(page(0, tokens=100), URL)
    assert loads(same, same, 5.0)[0].is_stuck
    idle = read_page(page(0, tokens=100, running=0), URL)
    assert not loads(idle, idle, 5.0)[0].is_stuck


def test_an_engine_that_began_anew_counts_from_its_start() -> None:
    before, after = read_page(page(0, tokens=1000), URL), read_page(page(0, tokens=20), URL)
    assert loads(before, after, 2.0)[0].generation_rate == 10


def test_all_engines_together_come_last() -> None:
    before = (*read_page(page(0, tokens=0), URL), *read_page(page(0, tokens=0), "http://10.2.0.2:8000"))
    after = (*read_page(page(0, tokens=10, usage=0.2), URL), *read_page(page(0, tokens=30), "http://10.2.0.2:8000"))
    found = loads(before, after, 1.0)
    assert [one.name for one in found] == [f"{URL} engine 0", "http://10.2.0.2:8000 engine 0", "all"]
    assert (found[-1].generation_rate, found[-1].running, found[-1].kv_cache_usage) == (40, 4, 0.5)


def test_what_no_page_tells_is_a_dash() -> None:
    only = '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0"} 1.0\n'
    _, rows = load_rows(loads(read_page(only, URL), read_page(only, URL), 1.0))
    assert rows[0][1] == "1"
    assert set(rows[0][2:]) == {"-"}


def test_a_quantile_lies_straight_within_its_bucket() -> None:
    assert quantile(0.5, {0.1: 0.0, 0.2: 10.0, math.inf: 10.0}) == pytest.approx(0.15)
    assert quantile(0.95, {0.1: 0.0, math.inf: 10.0}) == 0.1, "beyond the last bound nothing is known but that"
    assert quantile(0.95, {}) is None
    assert quantile(0.95, {0.1: 0.0, math.inf: 0.0}) is None


@given(counts=st.lists(st.integers(0, 50), min_size=1, max_size=8), share=st.floats(0.01, 0.99))
def test_a_quantile_never_leaves_its_bucket(counts: list[int], share: float) -> None:
    bounds = [0.5 * (place + 1) for place in range(len(counts) - 1)] + [math.inf]
    total = 0
    buckets = {}
    for bound, count in zip(bounds, counts, strict=True):
        total += count
        buckets[bound] = float(total)
    found = quantile(share, buckets)
    if not total:
        assert found is None
        return
    assert found is not None
    upper = next(bound for bound in bounds if buckets[bound] >= share * total)
    lower = max((bound for bound in bounds if bound < upper), default=0.0)
    assert lower <= found <= upper


class NobodyAnswers:
    """A fleet of hosts that are all asked in vain; `asked`: whom, each time."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def each(self, _: object, hosts: list[str]) -> dict[str, BringupError]:
        self.asked.append(hosts)
        return {host: HostUnreachable("no answer", id="timeout", host=host) for host in hosts}


def test_a_host_that_did_not_answer_is_not_waited_for_again() -> None:
    fleet, lost = NobodyAnswers(), HostUnreachable("no answer", id="timeout", host=GANG.hosts[0])
    seen = look(fleet, GANG, 0.0, {GANG.hosts[0]: lost})  # type: ignore[arg-type]
    assert fleet.asked == [["tray2"]]
    assert {one.host for one in seen.errors} == set(GANG.hosts)
