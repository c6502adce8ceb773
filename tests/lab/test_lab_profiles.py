"""Simulated hardware through the eyes of bringup's own fact gathering, over SSH."""

from __future__ import annotations

import pytest

from inventory import sshconfig
from inventory.facts.base import Unknown
from inventory.facts.gather import Asked, gather
from inventory.facts.host import Cpu, Gpus, HostFacts, Memory, Software, System
from inventory.lab import lifecycle
from inventory.lab.state import Lab
from inventory.load import load
from inventory.transport.openssh import OpensshTransport
from tests.lab.conftest import MakeLab, on

pytestmark = pytest.mark.lab


def facts_of(lab: Lab) -> HostFacts:
    host = load(lab.inventory).hosts["tray1"]
    transport = OpensshTransport("tray1", sshconfig.effective(host))
    try:
        return gather(transport, Asked())
    finally:
        transport.close()


def known(facts: HostFacts) -> tuple[System, Cpu, Memory, Software]:
    found = facts.system, facts.cpu, facts.memory, facts.software
    assert isinstance(found[0], System)
    assert isinstance(found[1], Cpu)
    assert isinstance(found[2], Memory)
    assert isinstance(found[3], Software)
    return found[0], found[1], found[2], found[3]


def test_a_gb200_tray(make_lab: MakeLab) -> None:
    lab = make_lab(1, "gb200")
    facts = facts_of(lab)
    system, cpu, memory, software = known(facts)
    assert (system.architecture, cpu.physical_cores, cpu.sockets) == ("aarch64", 144, 2)
    assert round(memory.total_bytes / 2**30, 1) == 956.8
    assert software.container == "lab"
    assert isinstance(facts.gpus, Gpus)
    assert facts.gpus.simulated
    assert [gpu.numa_node for gpu in facts.gpus.devices] == [0, 0, 1, 1]
    assert {(gpu.name, gpu.compute_capability) for gpu in facts.gpus.devices} == {("NVIDIA GB200", "10.0")}
    lifecycle.down(lab.name)


def test_an_h200_host_with_a_busy_gpu(make_lab: MakeLab) -> None:
    lab = make_lab(1, "h200")
    script = (
        "mkdir -p /run/bringup-lab; setsid sleep 300 >/dev/null 2>&1 </dev/null & "
        "echo 3 $! 9000 some engine >/run/bringup-lab/gpu-processes"
    )
    assert on(lab, "tray1", script).returncode == 0
    facts = facts_of(lab)
    _, cpu, _, _ = known(facts)
    assert (len(cpu.allowed), cpu.physical_cores, cpu.sockets) == (224, 112, 2)
    assert isinstance(facts.gpus, Gpus)
    assert [len(gpu.processes) for gpu in facts.gpus.devices] == [0, 0, 0, 1, 0, 0, 0, 0]
    assert facts.gpus.devices[3].processes[0].name == "some engine"
    lifecycle.down(lab.name)


def test_few_cores(make_lab: MakeLab) -> None:
    lab = make_lab(1, "few-cores")
    _, cpu, _, _ = known(facts_of(lab))
    assert (cpu.physical_cores, cpu.physical_cores_machine, cpu.allowed) == (3, 144, (0, 1, 2))
    lifecycle.down(lab.name)


def test_a_broken_driver_is_unknown_not_absent(make_lab: MakeLab) -> None:
    lab = make_lab(1, "broken-driver")
    facts = facts_of(lab)
    assert isinstance(facts.gpus, Unknown)
    assert "8 NVIDIA GPUs" in facts.gpus.detail
    lifecycle.down(lab.name)


def test_a_cpu_host_is_this_machine(make_lab: MakeLab) -> None:
    lab = make_lab(1, "cpu")
    facts = facts_of(lab)
    assert not facts.simulated
    assert on(lab, "tray1", "command -v nvidia-smi").returncode != 0
    lifecycle.down(lab.name)
