"""Hosts of stand-in engines for tests: each host is an address of loopback, each process is really started.

Ends only what it started: every host's processes are one session, made here.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

PATIENCE = 60.0  # seconds that a test waits for what comes at once on a machine that does nothing else
RPC_PORT, HTTP_PORT, MASTER_PORT = 13345, 8000, 29501
DENSE = {"architectures": ["LlamaForCausalLM"], "max_position_embeddings": 2048}
# What Python prints of an error of the stand-in's own.
BUGS = ("lib/launch/standin", "never retrieved", "was destroyed but it is pending", "socket.send() raised")
MOE = {"architectures": ["Qwen3MoeForCausalLM"], "max_position_embeddings": 2048, "num_experts": 8}


def model_folder(path: Path, config: Mapping[str, object], shards: int = 2) -> Path:
    """A model folder as the weights step leaves it, with tiny files."""
    path.mkdir(parents=True)
    files = [{"path": f"model-0000{number}.safetensors", "size": 3} for number in range(1, shards + 1)]
    for entry in files:
        (path / str(entry["path"])).write_bytes(b"abc")
    (path / "config.json").write_text(json.dumps(config))
    manifest = {"format_version": 1, "repo": "lab/tiny", "commit": "0" * 40, "simulated": True, "files": files}
    (path / ".bringup-manifest.json").write_text(json.dumps(manifest))
    return path


def members(session: int) -> dict[int, str]:
    """pid -> short name of the living processes of a session."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                name, _, rest = (entry / "stat").read_text().rpartition(")")
                state, *numbers = rest.split()
                if state != "Z" and int(numbers[2]) == session:
                    found[int(entry.name)] = name.partition("(")[2]
    return found


@dataclass
class Served:
    """One `vllm serve` on one host."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, text: str, seconds: float = PATIENCE) -> None:
        end = time.monotonic() + seconds
        while text not in self.text():
            assert time.monotonic() < end, f"{text!r} did not come:\n{self.text()}"
            time.sleep(0.03)

    def ended(self, seconds: float = PATIENCE) -> int:
        return self.process.wait(seconds)

    def processes(self) -> dict[int, str]:
        return members(self.process.pid)

    def pid_of(self, name: str) -> int:
        return next(pid for pid, title in self.processes().items() if title.startswith(name))

    def kill_all(self) -> None:
        """Kill every process of this host: what is left of a host that crashed."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)

    def ask(self, method: str, path: str, body: object = None, seconds: float = 10, **headers: str) -> tuple[int, Any]:
        """(status, JSON or text). Raises `OSError` when nothing listens or nothing comes within `seconds`."""
        connection = http.client.HTTPConnection(self.address, HTTP_PORT, timeout=seconds)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        is_json = "json" in response.headers.get("content-type", "") and text
        return response.status, json.loads(text) if is_json else text

    def health(self) -> int:
        return self.ask("GET", "/health")[0]

    def chat(self, seconds: float = 10, **headers: str) -> tuple[int, Any]:
        body = {"messages": [{"role": "user", "content": "say hello"}], "max_tokens": 8}
        return self.ask("POST", "/v1/chat/completions", body, seconds, **headers)

    def hangs(self, **headers: str) -> bool:
        """Whether a completion does not come."""
        try:
            self.chat(2.0, **headers)
        except TimeoutError:
            return True
        return False

    def refuses(self) -> bool:
        try:
            self.ask("GET", "/health")
        except ConnectionRefusedError:
            return True
        return False


@dataclass
class Gang:
    """`environment`: what `make_env.build` made. Addresses are loopback addresses of this gang alone."""

    environment: Path
    folder: Path
    started: list[Served] = field(default_factory=list)
    network: str = field(default_factory=lambda: ".".join(str(secrets.randbelow(250) + 1) for _ in range(2)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for served in self.started:
            served.kill_all()
        bugs = [served.text() for served in self.started if any(bug in served.text() for bug in BUGS)]
        assert kind or not bugs, bugs[0]

    def address(self, host: int) -> str:
        return f"127.{self.network}.{host + 1}"

    def serve(self, host: int, model: Path, *options: str, **env: str) -> Served:
        """Start `vllm serve` on host number `host`; its environment is `env` and no more."""
        log = self.folder / f"host{host}-{len(self.started)}.log"
        argv = [str(self.environment / "bin" / "vllm"), "serve", str(model), "--host", self.address(host), *options]
        clean = {"PATH": "/usr/bin:/bin", "GLOO_SOCKET_IFNAME": "lo", **env}
        with log.open("wb") as out:
            process = subprocess.Popen(
                argv, env=clean, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        served = Served(self.address(host), process, log)
        self.started.append(served)
        return served

    def shared(self, size: int, local: int) -> list[str]:
        """The options that all hosts of a data-parallel gang have."""
        head = ["--data-parallel-address", self.address(0), "--data-parallel-rpc-port", str(RPC_PORT)]
        return ["--data-parallel-size", str(size), "--data-parallel-size-local", str(local), *head]

    def internal(self, model: Path, *options: str, **env: str) -> tuple[Served, Served]:
        """Two hosts with one rank each, a headless follower."""
        shared = [*self.shared(2, 1), *options]
        head = self.serve(0, model, "--api-server-count", "1", *shared, **env)
        return head, self.serve(1, model, "--headless", "--data-parallel-start-rank", "1", *shared, **env)

    def hybrid(self, model: Path, size: int, *options: str, **env: str) -> tuple[Served, Served]:
        """Two hosts that both serve, with half of the ranks each."""
        shared = [*self.shared(size, size // 2), "--data-parallel-hybrid-lb", *options]
        first = self.serve(0, model, "--data-parallel-start-rank", "0", *shared, **env)
        return first, self.serve(1, model, "--data-parallel-start-rank", str(size // 2), *shared, **env)

    def tensor(self, model: Path, *options: str, **env: str) -> tuple[Served, Served]:
        """One rank over two hosts."""
        shared = ["--tensor-parallel-size", "2", "--nnodes", "2", "--master-addr", self.address(0), *options]
        shared += ["--master-port", str(MASTER_PORT), "--distributed-executor-backend", "mp"]
        head = self.serve(0, model, "--node-rank", "0", *shared, VLLM_HOST_IP=self.address(0), **env)
        follower = ["--node-rank", "1", "--headless", *shared]
        return head, self.serve(1, model, *follower, VLLM_HOST_IP=self.address(1), **env)


READY = "Application startup complete."


def all_ready(*heads: Served) -> None:
    for head in heads:
        head.wait_for(READY)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is inside takes at most `seconds`."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert took < seconds, f"took {took:.1f} s"
