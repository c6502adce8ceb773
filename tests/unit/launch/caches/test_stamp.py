"""A folder of caches is one build's: what changes its name, and what must not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from inventory.facts.base import Unknown, Why, is_known
from inventory.facts.host import Cpu, HostFacts
from launch.caches.roots import roots
from launch.caches.stamp import Stamp, stamp_of
from tests.unit.launch.gangs import facts, hosts

LOCK = (("torch", "2.14.0"), ("triton", "3.8.0"), ("flashinfer-python", "0.7.2"), ("numpy", "2.0"))
ENV = {"VLLM_USE_V2_MODEL_RUNNER": "1", "VLLM_HOST_IP": "10.0.0.1", "PATH": "/bin", "NCCL_DEBUG": "INFO"}
TRAY = facts(hosts(1), [4], "NVIDIA GB200")["tray1"]


def stamped(*, seen: HostFacts = TRAY, vllm: str = "0.33.0", program: str = "/e/vllm", **env: str) -> Stamp:
    return stamp_of(vllm, LOCK, seen, {**ENV, **env}, program=program)


def with_driver(version: str) -> HostFacts:
    assert is_known(TRAY.gpus)
    return replace(TRAY, gpus=replace(TRAY.gpus, driver=version))


def test_the_same_build_on_another_host_has_the_same_stamp() -> None:
    other = replace(TRAY, host="tray2")
    assert stamped(seen=other, VLLM_HOST_IP="10.0.0.2", VLLM_CPU_OMP_THREADS_BIND="0-3") == stamped()


@pytest.mark.parametrize(
    "other",
    [
        stamped(vllm="0.34.0"),
        stamped(program="/other/vllm"),
        stamped(VLLM_ENGINE_READY_TIMEOUT_S="3600"),
        stamped(seen=with_driver("999.1")),
        stamped(seen=facts(hosts(1), [4], "NVIDIA H200")["tray1"]),
        stamp_of("0.33.0", (("torch", "2.13.0"), *LOCK[1:]), TRAY, ENV, program="/e/vllm"),
        stamp_of("0.33.0", LOCK, TRAY, ENV, program="/e/vllm", image="vllm/vllm-openai@sha256:1"),
    ],
)
def test_whatever_makes_other_code_makes_another_folder(other: Stamp) -> None:
    assert other.digest != stamped().digest


def test_the_file_is_for_people_and_for_the_checks() -> None:
    told = json.loads(stamped().text("/s/caches/x"))
    assert told["stamp"] == stamped().digest
    assert (told["torch"], told["triton"], told["flashinfer"]) == ("2.14.0", "3.8.0", "0.7.2")
    assert (told["home"], told["path"]) == ("/s/caches/x", "/s/caches/x/vllm")
    assert told["architecture"].startswith("NVIDIA GB200")
    assert told["environment"] == {"VLLM_USE_V2_MODEL_RUNNER": "1"}


def test_a_host_without_gpus_is_its_cpu_and_what_is_unknown_is_left_out() -> None:
    cpu = Cpu("Xeon", 1, (0,), (0,), 1, 1)
    bare = replace(facts(hosts(1), [0])["tray1"], cpu=cpu)
    assert dict(stamped(seen=bare).made_with)["architecture"] == "Xeon"
    silent = Unknown(Why.TIMED_OUT, "no answer")
    assert "driver" not in dict(stamped(seen=replace(bare, gpus=silent)).made_with)


def test_every_root_lies_below_the_folder() -> None:
    assert all(path == "/c" or path.startswith("/c/") for path in roots("/c").values())
    assert {"VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "DG_JIT_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE"} <= roots("").keys()
