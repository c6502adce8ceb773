"""`bin/vllm` of the stand-in: `vllm serve MODEL ...` and `vllm --version`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

from launch.standin import headless, preload, serve, supervisor
from launch.standin.argv import Options, options, refuse
from launch.standin.failures import Failures, Leaves, Phase, Process
from launch.standin.host import Host
from launch.standin.layout import layout_of
from launch.standin.log import BANNER, Fault, Log, traceback_of, write
from launch.standin.model import read_model
from launch.standin.phases import Pace
from launch.standin.processes import Children


class Stopped(BaseException):
    """TERM or INT before the event loop runs."""


def main(words: Sequence[str], version: str) -> int:
    """Run the stand-in of vLLM `version`; its exit code."""
    if list(words) in (["--version"], ["-v"]):
        write(1, f"{version}\n")
        write(2, f"{BANNER}\n")
        return 0
    if words and words[0] == "preload" and version in preload.HAVE_IT:
        return preload.run(words[1:], version)
    if not words or words[0] != "serve":
        write(
            2,
            f"usage: vllm serve [model_tag] [options]\nvllm: error: {BANNER}; it has `serve` and `preload` only\n",
        )
        return 2
    given = options(words[1:], os.environ, version)
    if given.on(supervisor.MULTI_PORT):
        return supervisor.run(given, words[1:], version, main)
    return serve_model(given, version)


def serve_model(given: Options, version: str) -> int:
    env = dict(os.environ)
    pace, failures = Pace(env), Failures(env)
    refuse_if_injected(given, failures)
    log = Log(process_name(given))
    log.banner()
    children = Children()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stopped)
    try:
        log.says("startup.py:30", f"vLLM server version {version}, serving model {given.model}")
        log.says("startup.py:96", f"non-default args: {dict(given.non_default())}")
        return start(configured(given, version, env, pace, failures), log, children)
    except Fault as fault:
        write(2, traceback_of(fault.text) + "\n")
        return 1
    except (Stopped, Leaves):
        return 0
    finally:
        children.kill()


def refuse_if_injected(given: Options, failures: Failures) -> None:
    """An injected refusal of the command line: of the named option, else of the last one that was given."""
    with suppress(Fault):
        ranks = layout_of(given, moe=True).ranks
        for injected in failures.due(Process.MAIN, Phase.PARSE, ranks):
            last = list(given.parsed.given.values())[-1:] or ["--unknown"]
            refuse(f"unrecognized arguments: {injected.argument or last[0]}")


def process_name(given: Options) -> str:
    """A single API server is the main process; a launcher or a headless one has no name of its own."""
    single = given.optional("api_server_count") == 1 or given.number("data_parallel_size", 1) == 1
    single = single or given.given("data_parallel_rank")
    return "APIServer" if single and not given.on("headless") else "MainProcess"


def configured(given: Options, version: str, env: dict[str, str], pace: Pace, failures: Failures) -> Host:
    """VLLM's configuration from the options and the model folder. Raises `Fault`."""
    model = read_model(given, env)
    layout = layout_of(given, moe=model.moe)
    for injected in failures.due(Process.MAIN, Phase.CONFIG, layout.ranks):
        raise Fault(injected.text(layout.start), injected.failure.place)
    if given.refused_later is not None:
        raise Fault(f"ValueError: {given.refused_later.reason} ({given.refused_later.token})")
    time.sleep(pace.seconds("config"))
    return Host(version, given, layout, model, pace, failures, env)


def start(host: Host, log: Log, children: Children) -> int:
    for name in host.options.unread_env:
        log.warns("envs.py:2400", f"Unknown vLLM environment variable detected: {name}")
    log.says("model.py:744", f"Resolved architecture: {host.model.architecture}")
    log.says("model.py:2170", f"Using max model len {host.model.max_length}")
    return headless.run(host, log, children) if host.layout.headless else serve.run(host, log, children)


def stopped(_number: int, _frame: FrameType | None) -> None:
    raise Stopped


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "0.33.0"))
