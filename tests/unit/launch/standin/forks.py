"""Runs a test's coroutine as the stand-in runs its own: in a fork that ends without clearing up."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable, Coroutine
from typing import Any


def in_fork(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Fails when `test` does; its traceback is on stderr."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            asyncio.run(test())
            code = 0
        except BaseException:  # noqa: BLE001  (shown, and told by the exit code)
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
