"""Multi-port external load balancing: a process that starts a server for each rank of its host.

As vLLM's `DPSupervisor`: it ends with the first of them; ports from `--port` on, the GPUs cut in rank order, its own
port opened when all are healthy.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from launch.standin.argv import Options
from launch.standin.log import Fault, Log, traceback_of, write
from launch.standin.processes import Children
from launch.standin.tasks import asked_to_stop, begin, first

MULTI_PORT = "data_parallel_multi_port_external_lb"
# With the number of values each takes: what a child is told otherwise.
OWN = {
    "--data-parallel-multi-port-external-lb": 0,
    "--data-parallel-supervisor-port": 1,
    "--data-parallel-start-rank": 1,
    "--data-parallel-size-local": 1,
    "--port": 1,
}
DEFAULT_SUPERVISOR_PORT, DEFAULT_PORT = 9256, 8000
STOP_GRACE, PROBE_INTERVAL = 10.0, 0.2
Main = Callable[[Sequence[str], str], int]


def run(given: Options, words: Sequence[str], version: str, main: Main) -> int:
    """Start `main` for each rank of this host, until the first one ends; `words` are those behind `serve`."""
    log = Log("DPSupervisor")
    log.banner()
    local, ports = given.number("data_parallel_size_local"), ports_of(given)
    if local < 2 or given.number("data_parallel_size", 1) % local:
        text = "ValueError: Error: --data-parallel-multi-port-external-lb requires --data-parallel-size-local >= 2"
        write(2, traceback_of(text) + "\n")
        return 1
    log.says("dp_supervisor.py:399", "Launching vLLM DP Servers")
    children = Children()
    for index in range(local):
        target = partial(_serve, main, child_words(words, given, index), version, devices(given, index))
        children.spawn(f"rank {index}", f"VLLM::DP{index}", target)
    return asyncio.run(_live(given, ports, log, children))


def ports_of(given: Options) -> list[int]:
    first_port = given.optional("port") or DEFAULT_PORT
    return [first_port + index for index in range(given.number("data_parallel_size_local"))]


def child_words(words: Sequence[str], given: Options, index: int) -> list[str]:
    """The command line of the server of one rank."""
    kept, skip = [], 0
    for word in words:
        name, equals, _ = word.partition("=")
        if skip:
            skip -= 1
        elif name in OWN:
            skip = 0 if equals else OWN[name]
        else:
            kept.append(word)
    rank = given.number("data_parallel_start_rank") + index
    own = ["--data-parallel-external-lb", "--data-parallel-rank", str(rank), "--data-parallel-size-local", "1"]
    return [*kept, *own, "--port", str(ports_of(given)[index])]


def devices(given: Options, index: int) -> str:
    width = given.number("tensor_parallel_size", 1) * given.number("pipeline_parallel_size", 1)
    visible = [one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one]
    mine = range(index * width, (index + 1) * width)
    return ",".join(visible[one] if visible else str(one) for one in mine)


def _serve(main: Main, words: Sequence[str], version: str, gpus: str, _channel: object) -> int:
    os.environ["CUDA_VISIBLE_DEVICES"] = gpus
    return main(["serve", *words], version)


async def _live(given: Options, ports: Sequence[int], log: Log, children: Children) -> int:
    stop = asked_to_stop(signal.SIGTERM, signal.SIGINT)
    ends = [begin(child.ended()) for child in children.all]
    ready = begin(_all_healthy(loopback(given), ports))
    try:
        await first(stop, ready, *ends)
        if ready.done() and not stop.done():
            async with await _own_server(given, log):
                await first(stop, *ends)
        if gone := sum(end.done() for end in ends):
            log.says("dp_supervisor.py:476", f"DPSupervisor found {gone} exited DP Servers.")
    except (Fault, OSError) as fault:
        write(2, traceback_of(str(fault)) + "\n")
        return 1
    finally:
        ready.cancel()
        await children.stop(STOP_GRACE)
    return 0


def loopback(given: Options) -> str:
    """Where the servers of this host answer to itself."""
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host := given.text("host"), host)  # noqa: S104


async def _all_healthy(host: str, ports: Sequence[int]) -> None:
    while not all(await asyncio.gather(*(_is_healthy(host, port) for port in ports))):  # noqa: ASYNC110  (they tell nobody)
        await asyncio.sleep(PROBE_INTERVAL)


async def _is_healthy(host: str, port: int) -> bool:
    with suppress(OSError):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        status = await reader.readline()
        writer.close()
        return b" 200 " in status
    return False


async def _own_server(given: Options, log: Log) -> asyncio.Server:
    host = given.text("host") or "0.0.0.0"  # noqa: S104  (as vLLM)
    port = given.optional("data_parallel_supervisor_port") or DEFAULT_SUPERVISOR_PORT

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, host, port)
    log.says("dp_supervisor.py:363", f"Started DPSupervisor on {host}:{port}")
    return server
