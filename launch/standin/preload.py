"""`vllm preload` of the stand-in: a process that only seems to hold weights, and the sockets by which engines find it.

It reads the command line as 0.33.0 does (the engine's options, no server's), takes the time of loading, says READY in
vLLM's words and stays until TERM. An engine with `--load-format ipc_cache` looks for its sockets.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from launch.standin.argv import Options, options, refuse
from launch.standin.log import OWN, Fault, Log
from launch.standin.phases import Pace

HAVE_IT = ("0.33.0",)
OWN_FLAGS = ("--model", "--weight-cache-socket-dir", "--weight-cache-master-port", "--weight-cache-health-port")
SOCKET = "vllm_weight_cache_SIMULATED-{index}.sock"


def run(words: Sequence[str], version: str) -> int:
    """Hold until TERM; the exit code."""
    own, rest = split(words)
    if "--model" not in own:
        refuse("the following arguments are required: --model")
    given = options([own["--model"], *rest], os.environ, version)
    refuse_servers(given)
    log, ended = Log("WeightCacheDaemon"), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    log.banner()
    log.says(OWN, f"{version}: weight cache daemon of {own['--model']}, which loads nothing")
    time.sleep(Pace(dict(os.environ)).seconds("load"))
    folder = Path(own.get("--weight-cache-socket-dir", "/tmp/vllm_weight_cache"))  # noqa: S108
    count = given.number("data_parallel_size_local", 1) * given.number("tensor_parallel_size", 1)
    count //= given.number("nnodes", 1)
    sockets = [folder / SOCKET.format(index=index) for index in range(max(1, count))]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in sockets:
        path.write_text(f"{os.getpid()}\n", encoding="ascii")
    log.says(
        "preload.py:368",
        f"===== Weight cache daemon READY: node 0/1 serving {len(sockets)} local rank(s) x 1 role(s) in {folder} =====",
    )
    ended.wait()
    for path in sockets:
        path.unlink(missing_ok=True)
    return 0


def split(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The flags that `serve` does not have, and the rest."""
    own, rest, left = {}, [], iter(words)
    for word in left:
        if word in OWN_FLAGS:
            own[word] = next(left, "")
        else:
            rest.append(word)
    return own, rest


def refuse_servers(given: Options) -> None:
    """A server's option is unknown to `preload`: argparse ends with 2."""
    for name in ("headless", "api_server_count", "host", "port", "tool_call_parser", "enable_auto_tool_choice"):
        if given.given(name):
            refuse(f"unrecognized arguments: --{name.replace('_', '-')}")


def take_weights(given: Options, index: int, env: Mapping[str, str]) -> bool:
    """Whether a daemon of this host has the weights of GPU `index`. Raises `Fault` where one should, and does not."""
    if given.text("load_format") != "ipc_cache":
        return False
    extra = given.parsed.get("model_loader_extra_config")
    folder = extra.get("socket_dir") if isinstance(extra, dict) else None
    path = Path(str(folder or env.get("TMPDIR", "/tmp")), SOCKET.format(index=index))  # noqa: S108
    try:
        os.kill(int(path.read_text(encoding="ascii")), 0)
    except (OSError, ValueError):
        raise Fault(f"WeightCacheUnavailableError: no weight cache daemon at {path}", "ipc_loader.py:300") from None
    return True
