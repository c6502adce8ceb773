from __future__ import annotations

import json

from inventory.facts.base import Unknown
from inventory.facts.gpu.amd_smi import Link, parse_amd_smi, parse_documents, parse_links
from inventory.facts.gpu.amd_text import gpu_nodes, parse_amd_text, parse_outline, parse_tables
from inventory.facts.gpu.none import read_gpus
from inventory.facts.gpu.rocm_text import (
    Agent,
    ConciseGpu,
    parse_agents,
    parse_concise,
    parse_rocm_text,
    partition_mode,
)
from inventory.facts.host import GpuProcess, NumaNode
from tests.answered import Said, answers

STATIC = """GPU: 0
    ASIC:
        MARKET_NAME: MI300X-O
        ASIC_SERIAL: 0x1
        TARGET_GRAPHICS_VERSION: gfx942
    BUS:
        BDF: 0000:05:00.0
    DRIVER:
        NAME: amdgpu
        VERSION: 6.10.5
    VRAM:
        SIZE: 196592 MB
    NUMA:
        NODE: 1

GPU: 1
    ASIC:
        MARKET_NAME: N/A
"""
LINES = """Driver version: 6.7.0
GPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X
GPU[0]\t\t: PCI Bus: 0000:05:00.0
GPU[0]\t\t: VRAM Total Memory (B): 205822885888
GPU[0]\t\t: (Topology) Numa Node: 1
GPU[0]\t\t: (Topology) Numa Affinity: -1
"""


def test_amd_smi_static_as_text() -> None:
    answer = parse_amd_text(STATIC)
    assert not isinstance(answer, Unknown)
    assert answer.driver == "6.10.5"
    first, second = answer.gpus
    assert (first.name, first.pci_address, first.numa_node) == ("MI300X-O", "00000000:05:00.0", 1)
    assert (first.memory_bytes, first.gfx) == (196592 << 20, "gfx942")
    assert (second.name, second.pci_address, second.memory_bytes) == ("", "", None)
    assert parse_outline(STATIC)[0]["BUS", "BDF"] == "0000:05:00.0"


def test_rocm_smi_as_text() -> None:
    answer = parse_rocm_text(LINES)
    assert not isinstance(answer, Unknown)
    (gpu,) = answer.gpus
    assert (answer.driver, gpu.name, gpu.memory_bytes, gpu.numa_node) == (
        "6.7.0",
        "AMD Instinct MI300X",
        205822885888,
        1,
    )


def test_text_is_read_where_json_breaks() -> None:
    nodes = (NumaNode(0, (0,), 1), NumaNode(1, (1,), 1))
    tools: tuple[dict[str, Said], ...] = (
        {"amd.static": (1, "Traceback"), "amd.static-text": STATIC},
        {"amd.static": (127, "not found"), "amd.rocm": (2, "unrecognized arguments: --json"), "amd.rocm-text": LINES},
    )
    for items in tools:
        found = read_gpus(answers({"nvidia.xml": (127, "not found"), "pci.devices": "", **items}), nodes)
        assert not isinstance(found, Unknown)
        assert (found.vendor, found.devices[0].numa_node) == ("amd", 1)


def test_the_short_table() -> None:
    text = (
        "Device  [Model : Revision]    Temp        Power     Partitions      SCLK\n"
        "        Name (20 chars)       (Junction)  (Socket)  (Mem, Compute)\n"
        "0       [0x74a1 : 0x00]       41.0°C      121.0W    NPS1, SPX       131Mhz\n"
        "        AMD Instinct MI300X\n"
        "1       [0x0c34 : 0x02]       34.0°C      43.0W     N/A, N/A        800Mhz\n"
        "        Instinct MI210\n"
    )
    assert parse_concise(text) == (
        ConciseGpu(0, "0x74a1", "NPS1", "SPX", "AMD Instinct MI300X"),
        ConciseGpu(1, "0x0c34", "N/A", "N/A", "Instinct MI210"),
    )


def test_a_cpu_is_an_agent_too() -> None:
    text = (
        "*******\nAgent 1\n*******\n  Name:                    AMD EPYC 9474F\n"
        "  Marketing Name:          AMD EPYC 9474F\n"
        "  Device Type:             CPU\n*******\nAgent 2\n*******\n  Name:                    gfx942\n"
        "  Marketing Name:          AMD Instinct MI300X\n  Device Type:             GPU\n"
        "  ISA Info:\n    ISA 1\n      Name:                    amdgcn-amd-amdhsa--gfx942\n"
    )
    assert parse_agents(text) == (
        Agent("AMD EPYC 9474F", "AMD EPYC 9474F", "CPU"),
        Agent("gfx942", "AMD Instinct MI300X", "GPU"),
    )


def test_partitions_show_as_functions_of_a_card() -> None:
    found = partition_mode(["0000:01:00.0", "0000:01:00.1", "0000:01:00.2"])
    assert (found.cards, found.mode) == (("0000:01:00.0",), "TPX")
    assert partition_mode(["0000:01:00.0", "0000:02:00.0", "0000:02:00.1"]).mode is None


def test_tables() -> None:
    text = (
        "NIC_LINK_TYPE_TABLE:\n             0000:0c:00.0 0000:9f:00.0\n0000:51:00.0 NUMA         X_NUMA\n"
        "0000:d6:00.0 X_NUMA       PCIE\n\n"
        "NIC_NUMA_TABLE:\n             NUMA         CPU AFFINITY\n0000:51:00.0 0            [0-63]\n"
        "0000:d6:00.0 1            [64-127]\n"
    )
    tables = parse_tables(text)
    assert tables["NIC_NUMA"]["0000:d6:00.0"] == {"NUMA": "1", "CPU AFFINITY": "[64-127]"}
    assert gpu_nodes(tables) == {"0000:0c:00.0": 0, "0000:9f:00.0": 1}


def test_two_forms_of_the_topology() -> None:
    older = [{"gpu": 0, "link_type": {"gpu_0": "SELF", "gpu_1": "PCIE"}, "weight": {"gpu_1": 40}, "hops": {"gpu_1": 2}}]
    newer = [{"gpu": 0, "bdf": "0000:08:00.0", "links": [{"gpu": 1, "link_type": "XGMI", "link_status": "ENABLED"}]}]
    assert parse_links(json.dumps(older)).links[0, 1] == Link("PCIE", weight=40, hops=2)
    found = parse_links(json.dumps(newer))
    assert (found.gpus, found.links[0, 1]) == ({0: "0000:08:00.0"}, Link("XGMI", status="ENABLED"))


def test_several_documents_and_a_legend() -> None:
    documents = parse_documents('[{"gpu": 0}]\n[{"gpu": 1}]\n\nLegend:\n  * = Current mode [x]\n')
    assert [len(one) for one in documents] == [1, 1]


def test_who_holds_a_gpu() -> None:
    info = {"name": "python3", "pid": 7, "mem": {"value": 5, "unit": "B"}}
    held = [{"gpu": 0, "process_list": [{"process_info": info}]}]
    answer = parse_amd_smi('[{"gpu": 0}, {"gpu": 1}]', "", json.dumps(held))
    assert not isinstance(answer, Unknown)
    assert [one.processes for one in answer.gpus] == [(GpuProcess(7, "python3", 5),), ()]
