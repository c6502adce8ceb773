"""What one look at a host says, read from an answer as a host gives it; and a whole one from a real shell."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from launch.running.look import Look, look_script, parts, read_look
from launch.running.placed import Place, Process, audit
from tests.unit.launch.running.test_verdict import GANG
from tests.unit.playbooks.sh import sh


def part(name: str, text: str) -> bytes:
    return f"== {name} {len(text.encode())}\n{text}\n".encode()


PAGE = 'vllm:num_requests_running{engine="0"} 2.0\nvllm:generation_tokens_total{engine="0"} %s\n'
RANKS = {
    "pages": {"http://h:8000": [{"at": 10.0, "text": PAGE % 100}, {"at": 12.0, "text": PAGE % 140}]},
    "processes": [
        {"pid": 7, "name": "VLLM::Worker", "cpus": [0, 1], "policies": ["bind:0"], "source": "psutil"},
        {"pid": 8, "name": "VLLM::Worker", "cpus": [4, 5], "policies": ["default"], "source": "psutil"},
        {"pid": 9, "name": "no GPU", "cpus": [0], "policies": [], "source": "psutil"},
    ],
}
NODES = "0000:01:00.0 0 0-3\n0000:02:00.0 0 0-3\n"
ANSWER = (
    part("canary", "[]")
    + part("gpu-now", "0 96 0 210.5\n1 - - -\n")
    + part("gpu-nodes", NODES)
    + part("gpu-owners", "7 0000:01:00.0\n8 0000:02:00.0\n")
    + part("history", "now\t6.8\tboot\t-\n")
    + part("log", "line\n== log 3\nnot a part\n")
    + part("ranks", json.dumps(RANKS))
)


def test_every_part_is_read_and_a_log_cannot_forge_one() -> None:
    look = read_look(ANSWER)
    assert look.log == "line\n== log 3\nnot a part\n"
    (load,) = look.loads
    assert (load.running, load.generation_rate) == (2.0, 20.0)
    assert [(gpu.index, gpu.busy, gpu.watts) for gpu in look.gpus] == [(0, 96.0, 210.5), (1, None, None)]
    assert look.history.ground.kernel == "6.8"


def test_processes_are_placed_by_the_cpus_of_their_gpus_node() -> None:
    near, far = read_look(ANSWER).processes
    assert (near.pid, near.place, near.bound_elsewhere) == (7, Place.LOCAL, False)
    assert (far.pid, far.place) == (8, Place.REMOTE)
    assert "process 8" in audit((near, far))[0]
    assert audit((near,)) == ("all 1 processes with a GPU run on its node",)
    assert "simulated" in audit((far,), simulated=True)[0]


@pytest.mark.parametrize(
    ("cpus", "node", "node_cpus", "place"),
    [
        ((0, 1, 4), 0, (0, 1, 2, 3), Place.FREE),
        ((0,), None, (), Place.UNKNOWN),
        ((), 0, (0,), Place.UNKNOWN),
    ],
)
def test_what_is_not_told_is_unknown(
    cpus: tuple[int, ...], node: int | None, node_cpus: tuple[int, ...], place: Place
) -> None:
    assert Process(1, "x", cpus, (), "gpu", node, node_cpus).place is place


def test_memory_that_is_held_to_another_node_is_told() -> None:
    assert Process(1, "x", (0,), ("bind=static:1",), "gpu", 0, (0,)).bound_elsewhere
    assert not Process(1, "x", (0,), ("prefer:1", "default"), "gpu", 0, (0,)).bound_elsewhere


@pytest.mark.parametrize(
    "answer", [b"", b"== ranks 4\n{...", part("ranks", "[]"), part("ranks", '{"pages": {"u": [1]}}')]
)
def test_a_broken_part_tells_nothing_and_breaks_nothing(answer: bytes) -> None:
    look = read_look(answer)
    assert (look.loads, look.processes, look.gpus) == ((), (), ())


def test_an_endpoint_without_metrics_says_why() -> None:
    pages = {"pages": {"http://h:1": [{"error": "URLError: refused"}, {"error": "URLError: refused"}]}}
    assert read_look(part("ranks", json.dumps(pages))).metrics_error == "http://h:1: URLError: refused"


def test_a_real_shell_answers_in_parts_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "deployments/trial/g1"
    folder.mkdir(parents=True)
    (folder.parent / "current").symlink_to("g1")
    (folder / "log").write_text("the end\n")
    gang = replace(GANG, members=(replace(GANG.members[0], python=sys.executable, url=""), *GANG.members[1:]))
    before = set(Path("/dev/shm").glob("bringup-look.*"))
    done = sh(look_script(gang, "tray1", "printf canary", state_dir=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    told = parts(done.stdout.encode())
    assert told["canary"] == "canary"
    look = read_look(done.stdout.encode())
    assert look.log == "the end\n"
    assert look.history.ground.boot
    assert set(Path("/dev/shm").glob("bringup-look.*")) <= before
    assert isinstance(look, Look)
