"""The stand-in engine on lab hosts: what needs networks of their own, or GPUs."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator

import pytest

from inventory.lab import faults
from inventory.lab.lifecycle import Equipment
from inventory.lab.state import Lab
from launch.standin.make_env import build
from tests.lab.conftest import MakeLab, on
from tests.lab.standin_gang import DENSE, HTTP_PORT, MOE, READY

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-standin")]

VLLM = "/var/lib/bringup/envs/standin/bin/vllm"
PATIENCE = 60.0


class Trays:
    """Two hosts with simulated GPUs; `head` and `other` are their addresses on the fabric."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.head, self.other = (host.fabric for host in lab.hosts)

    def run(self, host: str, command: str) -> str:
        return on(self.lab, host, command).stdout

    def serve(self, host: str, model: str, options: str, **env: str) -> None:
        """Start the stand-in in a session of its own, as a plain process group is started."""
        settings = shlex.join(f"{name}={value}" for name, value in {"GLOO_SOCKET_IFNAME": "fab0", **env}.items())
        command = f"setsid env -i PATH=/usr/bin:/bin {settings} {VLLM} serve /srv/{model} {options}"
        self.run(host, f"{command} >/srv/log 2>&1 </dev/null & echo $! >/srv/pid; cat /srv/pid >>/srv/pids")

    def log(self, host: str) -> str:
        return self.run(host, "cat /srv/log")

    def wait_for(self, host: str, text: str) -> None:
        end = time.monotonic() + PATIENCE
        while text not in (log := self.log(host)):
            assert time.monotonic() < end, f"{text!r} did not come on {host}:\n{log}"
            time.sleep(0.2)

    def runs(self, host: str) -> bool:
        """Whether the main process lives."""
        return self.run(host, "kill -0 $(cat /srv/pid) 2>/dev/null && echo yes") == "yes\n"

    def status(self, host: str, path: str, data: str = "") -> str:
        """The HTTP status as this host sees it of itself; 000 when nothing comes within 2 s."""
        body = f"-d {shlex.quote(data)}" if data else ""
        url = f"http://127.0.0.1:{HTTP_PORT}{path}"
        return self.run(host, f"curl -s -m 2 -o /dev/null -w '%{{http_code}}' {body} {url}")

    def completion(self, host: str) -> str:
        return self.status(host, "/v1/completions", '{"prompt": "x", "max_tokens": 2}')

    def clear(self) -> None:
        """Kill the sessions that `serve` started."""
        for host in self.lab.hosts:
            self.run(host.name, "for pid in $(cat /srv/pids); do pkill -9 -s $pid; done; rm -f /srv/log /srv/pid*")


@pytest.fixture(scope="module")
def hosts(make_lab: MakeLab, tmp_path_factory: pytest.TempPathFactory) -> Trays:
    environment = build(tmp_path_factory.mktemp("envs") / "standin", "0.33.0")
    lab = make_lab(2, "gb200", equipment=Equipment(copied_environments={"standin": environment}))
    for host in lab.hosts:
        for name, config in (("dense", DENSE), ("moe", MOE)):
            text = shlex.quote(json.dumps(config))
            on(
                lab,
                host.name,
                f"mkdir /srv/{name} && echo {text} >/srv/{name}/config.json && echo x >/srv/{name}/1.safetensors",
            )
    return Trays(lab)


@pytest.fixture
def trays(hosts: Trays) -> Iterator[Trays]:
    yield hosts
    hosts.clear()


def two_ranks(trays: Trays, more: str = "") -> tuple[str, str]:
    shared = f"--data-parallel-size 2 --data-parallel-size-local 1 --data-parallel-address {trays.head} {more}"
    return f"--api-server-count 1 {shared}", f"--headless --data-parallel-start-rank 1 {shared}"


def test_orphans_hold_their_gpus_and_the_next_start_says_so(trays: Trays) -> None:
    trays.serve("tray1", "dense", "--tensor-parallel-size 4")
    trays.wait_for("tray1", READY)
    apps = trays.run("tray1", "nvidia-smi --query-compute-apps=process_name --format=csv,noheader").split()
    assert sorted(apps) == [f"VLLM::Worker_TP{rank}" for rank in range(4)]
    trays.run("tray1", "kill -9 $(cat /srv/pid)")
    trays.serve("tray1", "dense", "")
    trays.wait_for("tray1", "on startup is less than desired GPU memory utilization (0.92,")
    trays.wait_for("tray1", "Engine core initialization failed")
    trays.clear()
    trays.serve("tray1", "dense", "")
    trays.wait_for("tray1", READY)


def test_more_ranks_than_gpus(trays: Trays) -> None:
    trays.serve("tray1", "dense", "--data-parallel-size 5 --api-server-count 1")
    trays.wait_for("tray1", "DP adjusted local rank 4 is out of bounds")
    trays.wait_for("tray1", "Engine core initialization failed")


def test_gloo_on_loopback_ends_the_follower_and_the_head_lingers(trays: Trays) -> None:
    head, follower = two_ranks(trays)
    trays.serve("tray1", "moe", head, GLOO_SOCKET_IFNAME="lo")
    trays.serve("tray2", "moe", follower, GLOO_SOCKET_IFNAME="lo")
    trays.wait_for("tray2", "Gloo connectFullMesh failed")
    assert "Connection refused, remote=[127.0.0.1]:" in trays.log("tray2")
    trays.wait_for("tray2", "Shutting down.")
    assert (trays.runs("tray1"), trays.runs("tray2")) == (True, False)
    assert "Starting to load model" not in trays.log("tray1")


def test_no_default_route_and_no_host_ip_hangs_a_rank_that_spans_hosts(trays: Trays) -> None:
    shared = f"--tensor-parallel-size 2 --nnodes 2 --master-addr {trays.head}"
    trays.serve("tray1", "dense", f"{shared} --node-rank 0")
    trays.serve("tray2", "dense", f"{shared} --node-rank 1 --headless")
    trays.wait_for("tray2", "headless multiproc executor")
    time.sleep(3)
    assert READY not in trays.log("tray1")
    assert "Starting to load model" not in trays.log("tray2")


def test_the_same_rank_with_its_addresses(trays: Trays) -> None:
    shared = f"--tensor-parallel-size 2 --nnodes 2 --master-addr {trays.head}"
    trays.serve("tray1", "dense", f"{shared} --node-rank 0", VLLM_HOST_IP=trays.head)
    trays.serve("tray2", "dense", f"{shared} --node-rank 1 --headless", VLLM_HOST_IP=trays.other)
    trays.wait_for("tray1", READY)
    assert trays.completion("tray1") == "200"


def test_a_pulled_cable_hangs_requests_until_gloo_gives_up(trays: Trays) -> None:
    head, follower = two_ranks(trays, "--cpu-distributed-timeout-seconds 6")
    trays.serve("tray1", "moe", head)
    trays.serve("tray2", "moe", follower)
    trays.wait_for("tray1", READY)
    assert trays.completion("tray1") == "200"
    faults.cut("tray2", only="fabric", lab=trays.lab.name)
    try:
        assert {trays.completion("tray1"), trays.completion("tray1")} == {"000"}
        assert trays.status("tray1", "/health") == "200"
        trays.wait_for("tray1", "Timed out waiting 6000ms for recv operation to complete")
        trays.wait_for("tray1", "engine core exited unexpectedly")
    finally:
        faults.heal("tray2", only="fabric", lab=trays.lab.name)


def test_a_cable_that_is_out_at_the_start_leaves_both_silent(trays: Trays) -> None:
    head, follower = two_ranks(trays)
    faults.cut("tray2", only="fabric", lab=trays.lab.name)
    try:
        trays.serve("tray1", "dense", head, BRINGUP_STANDIN_PHASES="ready_log=0.3")
        trays.serve("tray2", "dense", follower)
        trays.wait_for("tray1", "Waiting for READY message from DP Coordinator...")
        assert "Starting to load model" not in trays.log("tray2")
    finally:
        faults.heal("tray2", only="fabric", lab=trays.lab.name)
    trays.wait_for("tray1", READY)  # ZeroMQ goes on trying: the follower comes late


def test_a_power_cut_of_the_follower_is_not_noticed(trays: Trays) -> None:
    head, follower = two_ranks(trays)
    trays.serve("tray1", "dense", head)
    trays.serve("tray2", "dense", follower)
    trays.wait_for("tray1", READY)
    faults.power_off("tray2", lab=trays.lab.name)
    try:
        assert sorted(trays.completion("tray1") for _ in range(4)) == ["000", "000", "200", "200"]
        assert trays.status("tray1", "/health") == "200"
    finally:
        faults.power_on("tray2", lab=trays.lab.name)


def test_the_environment_works_for_a_smoke_probe_too(trays: Trays) -> None:
    python = VLLM.replace("vllm", "python")
    assert trays.run("tray2", f"{python} -c 'import http.client, json, ssl; print(json.dumps(1))'").strip() == "1"
