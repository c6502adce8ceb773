"""Tasks and futures of a process that may end at any moment.

Nobody reads how the loading of an engine would have ended that is being stopped: a failure that is not read is not
complained about (asyncio would print a traceback of ours into a log that imitates vLLM's).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")
_running: set[asyncio.Future[Any]] = set()  # asyncio itself holds its tasks weakly


def begin(work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
    """Start `work`; it runs on whether or not the caller keeps the task."""
    task = asyncio.ensure_future(work)
    _running.add(task)
    task.add_done_callback(_read)
    return task


def outcome() -> asyncio.Future[None]:
    """Something that will be settled, or fail, once."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.add_done_callback(_read)
    return future


def _read(future: asyncio.Future[Any]) -> None:
    _running.discard(future)
    if not future.cancelled():
        future.exception()


def settle(future: asyncio.Future[None], failure: Exception | None = None) -> None:
    """Settle `future`, or let it fail, unless it already is."""
    if future.done():
        return
    if failure is None:
        future.set_result(None)
    else:
        future.set_exception(failure)


async def first(*futures: asyncio.Future[Any]) -> None:
    """Wait until one of `futures` is done."""
    await asyncio.wait(set(futures), return_when=asyncio.FIRST_COMPLETED)


def asked_to_stop(*numbers: signal.Signals) -> asyncio.Future[None]:
    """Settled at the first of these signals (TERM when none is named); later ones change nothing."""
    stop = outcome()
    for number in numbers or (signal.SIGTERM,):
        asyncio.get_running_loop().add_signal_handler(number, settle, stop)
    return stop
