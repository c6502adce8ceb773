"""One `vllm serve` of a tiny recipe on loopback: own session, clean environment, its log read as the product does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launch.catalogue.find import Catalogue
from launch.resolve import resolve
from launch.watching.phases import Phase, Progress, Role

READY_S = 600.0  # a minute on two quiet cores, ten times that beside other work
GONE_S = 60.0
MARK = "BRINGUP_DEPLOYMENT"


@dataclass(slots=True)
class Server:
    process: subprocess.Popen[bytes]
    url: str
    mark: str
    progress: Progress

    @property
    def members(self) -> dict[int, str]:
        """The command lines of all processes of the session, by pid."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and (fields := stat(entry)) and fields[3] == str(self.process.pid):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        return found

    @property
    def marked(self) -> set[int]:
        """The pids of all processes that have the deployment's mark in their environment."""
        return {
            int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and marked(entry, self.mark)
        }

    def ask(self, path: str, body: dict[str, Any] | None = None) -> str:
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  (loopback)
            text: str = answer.read().decode()
        return text

    def complete(self, model: str, words: str, *, max_tokens: int) -> str:
        message = {"role": "user", "content": words}
        body = {"model": model, "messages": [message], "max_tokens": max_tokens, "temperature": 0}
        content: str = json.loads(self.ask("/v1/chat/completions", body))["choices"][0]["message"]["content"]
        return content

    def terminate(self) -> float:
        """TERM the main process alone, as a service manager does first; seconds until nothing of it is left."""
        began = time.monotonic()
        self.process.terminate()
        while self.members and time.monotonic() - began < GONE_S:
            self.process.poll()
            time.sleep(0.1)
        return time.monotonic() - began


@contextmanager
def serving(environment: Path, weights: Path, home: Path, *, model: str, strategy: str) -> Iterator[Server]:
    """Start the recipe `model` as it resolves for one CPU host, and wait until its log says that it is ready."""
    resolved = resolve(Catalogue.of().find(model), strategy=strategy, hardware="cpu", node_count=1).head
    port = free_port()
    mark = f"{MARK}={model}/{os.getpid()}"
    # vLLM leaves a file in TMPDIR; its sockets stay in /tmp, because their paths may not be long.
    own = {"HOME": str(home), "TMPDIR": str(home), "VLLM_RPC_BASE_PATH": "/tmp", "SPT_NOENV": "1"}
    env = {**resolved.env, **own, "PATH": f"{environment}/bin:/usr/bin:/bin"}
    options = ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", model]
    log = home / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [f"{environment}/bin/vllm", "serve", str(weights), *resolved.argv[3:], *options],
            env=env | dict([mark.split("=")]),
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(process, f"http://127.0.0.1:{port}", mark, Progress(Role.SERVING))
    try:
        wait_until_ready(server, log)
        yield server
    finally:
        for pid in server.members:
            os.kill(pid, signal.SIGKILL)
        process.wait()


def wait_until_ready(server: Server, log: Path) -> None:
    began, read = time.monotonic(), 0
    while server.progress.phase is not Phase.READY:
        lines = log.read_text(errors="replace").split("\n")[:-1]
        for line in lines[read:]:
            server.progress.feed(line)
        read = len(lines)
        late = time.monotonic() - began > READY_S
        if late or server.process.poll() is not None or server.progress.phase is Phase.FAILED:
            raise AssertionError(f"{server.progress.sentence}\n" + "\n".join(lines[-30:]))
        time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def stat(entry: Path) -> list[str] | None:
    """The fields of /proc/PID/stat behind the name: state, parent, group, session; None when it is gone or a zombie."""
    try:
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields


def marked(entry: Path, mark: str) -> bool:
    try:
        return mark.encode() in (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
