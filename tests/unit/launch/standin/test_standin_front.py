"""Which rank gets a request, and what the main process says of those that ended."""

from __future__ import annotations

import asyncio
import re

import pytest

from launch.standin.argv import options
from launch.standin.failures import Failures
from launch.standin.front import EngineDead, Front
from launch.standin.host import Host
from launch.standin.layout import layout_of
from launch.standin.log import Fault
from launch.standin.metrics import Counters
from launch.standin.model import Model
from launch.standin.phases import Pace
from launch.standin.serve import start_failure

MODEL = Model("/m", ("m",), "X", moe=True, max_length=8, kv_tokens=8, shards=())


def front(words: str, index: int = 0) -> Front:
    given = options(["/m", *words.split()], {}, "0.33.0")
    layout = layout_of(given, moe=True)
    host = Host("0.33.0", given, layout, MODEL, Pace({}), Failures({}), {})
    return Front(host, index, Counters(layout.api_servers, layout.served))


HEAD = "--data-parallel-address 10.0.0.1"


@pytest.mark.parametrize(
    ("words", "index", "ranks"),
    [
        (f"-dp 4 -dpl 2 {HEAD} --api-server-count 1", 0, [0, 1, 2, 3, 0]),
        (f"-dp 4 -dpl 2 {HEAD}", 3, [3, 0, 1, 2, 3]),
        (f"-dp 4 -dpl 2 -dpr 2 -dph {HEAD}", 0, [2, 3, 2, 3, 2]),
        (f"-dp 4 -dpl 2 -dpr 2 -dph {HEAD}", 1, [3, 2, 3, 2, 3]),
    ],
)
def test_ranks_in_turn_each_server_from_another_one(words: str, index: int, ranks: list[int]) -> None:
    of = front(words, index)
    assert [of.next_rank() for _ in ranks] == ranks


def test_a_dead_engine_ends_what_waits_and_what_comes() -> None:
    async def test() -> None:
        of = front("")
        waiting: asyncio.Queue[dict[str, object]] = asyncio.Queue()
        of.pending[7] = waiting
        of.die()
        assert await waiting.get() == {"dead": True}
        with pytest.raises(EngineDead):
            async for _ in of.generate("x", 1):
                pass

    asyncio.run(test())


def test_engines_that_do_not_come_in_time() -> None:
    with pytest.raises(Fault, match="Timed out waiting for engine core processes to start"):
        asyncio.run(front("").engines_ready(0.05))


@pytest.mark.parametrize(
    ("finished", "text"),
    [
        ({"EngineCore_DP0": 1}, "Engine core initialization failed. .* core proc\\(s\\): {'EngineCore_DP0': 1}$"),
        ({"ApiServer_1": 1}, "Frontend process failed during .* frontend proc\\(s\\): {'ApiServer_1': 1}$"),
        ({"EngineCore": -9, "ApiServer_0": 1}, "{'EngineCore': -9}, failed frontend proc\\(s\\): {'ApiServer_0': 1}$"),
        ({"VLLM_DP_Coordinator": 1}, "Failed core proc\\(s\\): {'VLLM_DP_Coordinator': 1}$"),
    ],
)
def test_who_ended_a_start(finished: dict[str, int], text: str) -> None:
    assert re.search(text, start_failure(finished))
