from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from launch.standin.gpus import Gpus
from launch.standin.log import Fault


@pytest.fixture
def gpus(tmp_path: Path) -> Gpus:
    described = {"gpus": [{"index": index, "memory_mib": 100_000} for index in range(2)]}
    (tmp_path / "gpus.json").write_text(json.dumps(described))
    return Gpus(tmp_path / "gpus.json", tmp_path / "run" / "gpu-processes")


def test_a_worker_is_on_its_gpu(gpus: Gpus) -> None:
    gpus.claim(1, "VLLM::Worker_TP1", 0.9, {})
    assert gpus.processes.read_text() == f"1 {os.getpid()} 90000 VLLM::Worker_TP1\n"
    assert list(gpus.taken()) == [(1, 90_000)]


def test_a_gpu_that_somebody_holds(gpus: Gpus) -> None:
    gpus.claim(0, "VLLM::Worker", 0.9, {})
    with pytest.raises(
        Fault, match=r"Free memory on device cuda:0 \(9\.77/97\.66 GiB\) on startup is less than desired"
    ):
        gpus.claim(0, "VLLM::Worker", 0.9, {})
    gpus.claim(0, "VLLM::Worker", 0.05, {})


def test_a_process_that_has_ended_holds_nothing(gpus: Gpus) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    gpus.processes.parent.mkdir()
    gpus.processes.write_text(f"0 {ended.pid} 90000 an old engine\n")
    gpus.claim(0, "VLLM::Worker", 0.9, {})


def test_visible_devices_are_counted_and_ordered(gpus: Gpus) -> None:
    gpus.claim(0, "VLLM::Worker", 0.9, {"CUDA_VISIBLE_DEVICES": "1"})
    assert gpus.processes.read_text().startswith("1 ")
    with pytest.raises(Fault, match="DP adjusted local rank 1 is out of bounds"):
        gpus.claim(1, "VLLM::Worker", 0.9, {"CUDA_VISIBLE_DEVICES": "1"})
    with pytest.raises(Fault, match="DP adjusted local rank 2 is out of bounds"):
        gpus.claim(2, "VLLM::Worker", 0.9, {})


def test_without_simulated_gpus_nothing_happens(tmp_path: Path) -> None:
    Gpus(tmp_path / "absent", tmp_path / "processes").claim(7, "VLLM::Worker", 0.9, {})
    assert not (tmp_path / "processes").exists()
