from __future__ import annotations

from inventory.facts.base import Unknown, Why
from inventory.facts.pasted import read_pasted
from tests.answered import fixture
from tests.unit.inventory.facts.gpu.test_nvidia_text import OUTLINE, TABLE
from tests.unit.inventory.facts.test_collect_env import OLD
from tests.unit.inventory.facts.test_rdma import IBSTAT


def test_a_report() -> None:
    host = read_pasted("reported", [OLD])
    assert not isinstance(host.cpu, Unknown)
    assert (host.cpu.physical_cores, host.cpu.online) == (2, (0, 1, 2, 3))
    assert not isinstance(host.numa, Unknown)
    assert [node.cpus for node in host.numa] == [(0, 1, 2, 3)]
    assert not isinstance(host.gpus, Unknown)
    assert [(one.name, one.numa_node) for one in host.gpus.devices] == [("NVIDIA H100 80GB HBM3", 0)] * 2
    assert host.system == Unknown(Why.NOT_ASKED, "not in what was pasted")


def test_the_fullest_form_of_the_gpus_counts() -> None:
    host = read_pasted("x", [TABLE, OUTLINE])
    assert not isinstance(host.gpus, Unknown)
    assert host.gpus.driver == "610.57.04"
    xml = fixture("gb200-tray")["nvidia.xml"]
    assert isinstance(xml, bytes)
    host = read_pasted("x", [TABLE, OUTLINE, xml.decode()])
    assert not isinstance(host.gpus, Unknown)
    assert {one.name for one in host.gpus.devices} == {"NVIDIA GB200"}


def test_a_failure_is_told_and_is_not_zero_gpus() -> None:
    host = read_pasted("x", ["No devices were found\n"])
    assert isinstance(host.gpus, Unknown)
    assert host.gpus.detail.startswith("no_devices")


def test_offline_cpus_make_the_cores_unknown() -> None:
    """lscpu then prints 0 threads a core, and the hardware's cores."""
    text = (
        "On-line CPU(s) list: 0-1\nOff-line CPU(s) list: 2-7\n"
        "Thread(s) per core: 0\nCore(s) per socket: 4\nSocket(s): 1\n"
    )
    assert isinstance(read_pasted("x", [text]).cpu, Unknown)


def test_other_subjects() -> None:
    host = read_pasted("x", [IBSTAT, '{"blockdevices": [{"name": "sda", "type": "disk", "size": 5}]}'])
    assert not isinstance(host.rdma, Unknown)
    assert [one.name for one in host.rdma] == ["mlx5_0", "mlx5_1"]
    assert not isinstance(host.blocks, Unknown)
    assert host.blocks[0].name == "sda"


def test_nothing() -> None:
    host = read_pasted("x", [])
    subjects = (host.cpu, host.numa, host.gpus, host.rdma, host.blocks)
    assert all(isinstance(one, Unknown) and one.why is Why.NOT_ASKED for one in subjects)
