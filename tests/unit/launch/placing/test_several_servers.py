"""A host with a server for every rank: each is asked, and the host is ready when all are."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from inventory.transport.base import Completed
from launch.building.generation import Member
from launch.running.smoke import Endpoint, endpoint_of, read_answer, smoke_script
from launch.running.verdict import deploy_again
from launch.watching.phases import Phase, Role, phase_of
from tests.unit.launch.running.test_verdict import GANG

SERVERS = 3
STARTED = (
    "(DPSupervisor pid=1) INFO 11-29 10:00:00 [dp_supervisor.py:390] Launching vLLM DP Servers",
    "(APIServer_DP0 pid=2) INFO:     Application startup complete.",
    "(APIServer_DP1 pid=3) INFO:     Application startup complete.",
)
ALL_UP = "(DPSupervisor pid=1) INFO 11-29 10:00:09 [dp_supervisor.py:330] Started DPSupervisor on 0.0.0.0:8002"


@contextmanager
def serving(asked: list[int], broken: int | None = None) -> Iterator[list[int]]:
    """Servers on loopback that complete a chat; the one of index `broken` answers 500. Yields their ports."""

    class Chat(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.server.server_port)  # type: ignore[attr-defined]
            self.rfile.read(int(self.headers["Content-Length"]))
            bad = broken is not None and self.server.server_port == ports[broken]  # type: ignore[attr-defined]
            body = {"choices": [{"message": {"content": "4"}}], "usage": {"completion_tokens": 1}}
            self.send_response(500 if bad else 200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Chat) for _ in range(SERVERS)]
    ports = [one.server_port for one in servers]
    for one in servers:
        threading.Thread(target=one.serve_forever, daemon=True).start()
    yield ports
    for one in servers:
        one.shutdown()
        one.server_close()


def answer(endpoint: Endpoint) -> Completed:
    script = smoke_script(endpoint, python=sys.executable, timeout_s=10)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True, timeout=30)
    return Completed(done.returncode, done.stdout, done.stderr, b"", 0.1)


@pytest.mark.parametrize("broken", [None, 1])
def test_every_server_of_a_host_must_complete(broken: int | None) -> None:
    asked: list[int] = []
    with serving(asked, broken) as ports:
        urls = ",".join(f"http://127.0.0.1:{port}" for port in ports)
        endpoint = Endpoint("tray1", urls, "m", 1, "What is 2 + 2?", 4)
        found = read_answer(endpoint, answer(endpoint))
    assert sorted(asked) == sorted(ports)
    assert found.ok == (broken is None)
    assert ("HTTP 500" in found.error) == (broken is not None)


def test_the_endpoints_of_a_host_are_the_ports_from_the_first_on() -> None:
    member = Member("tray1", "http://[fd00::1]:8000", 0, 2, "/env/bin/python", "systemd", servers=2)
    assert member.urls == ("http://[fd00::1]:8000", "http://[fd00::1]:8001")
    assert Member("tray2", "", 2, 2, "/env/bin/python", "systemd").urls == ()


def test_of_external_load_balancing_one_rank_is_behind_each() -> None:
    gang = replace(GANG, load_balancing="external")
    assert endpoint_of(gang, gang.members[0]).ranks == 1
    assert "--load-balancing external" in deploy_again(gang)


def test_a_host_is_ready_when_the_supervisor_has_all_its_servers() -> None:
    assert phase_of(STARTED, Role.SERVING).phase is not Phase.READY
    ready = phase_of((*STARTED, ALL_UP), Role.SERVING)
    assert (ready.phase, ready.line) == (Phase.READY, ALL_UP)
