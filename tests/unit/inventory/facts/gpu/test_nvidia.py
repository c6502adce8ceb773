from __future__ import annotations

import pytest

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.none import read_gpus
from inventory.facts.gpu.nvidia_csv import parse_capabilities, parse_csv, parse_listing
from inventory.facts.gpu.nvidia_xml import parse_xml
from inventory.facts.host import GpuProcess, Gpus, NumaNode
from tests.answered import Said, answers, fixture

GPU = """<gpu id="0000000{0}:01:00.0"><product_name>NVIDIA GB200</product_name>
<mig_mode><current_mig>Enabled</current_mig></mig_mode>
<mig_devices><mig_device><fb_memory_usage><total>40448 MiB</total></fb_memory_usage></mig_device></mig_devices>
<uuid>GPU-{0}</uuid><fb_memory_usage><total>81559 MiB</total></fb_memory_usage>
<processes><process_info><pid>12</pid><process_name>python</process_name><used_memory>512 MiB</used_memory>
</process_info></processes></gpu>"""
XML = (
    '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n<nvidia_smi_log>'
    "<driver_version>580.1</driver_version><cuda_version>13.0</cuda_version>{}</nvidia_smi_log>"
)
BUS = "0001:01:00.0 0x030200 0x10de 0x2941 {}\n0002:01:00.0 0x030200 0x10de 0x2941 {}\n"
NODES = (NumaNode(0, (0, 1), 1), NumaNode(1, (2, 3), 1), NumaNode(2, (), 1))


def gpus(
    items: dict[str, Said], ends: dict[str, int] | None = None, nodes: tuple[NumaNode, ...] = NODES
) -> Maybe[Gpus]:
    return read_gpus(answers({"pci.devices": "", **items}, ends), nodes)


def known(items: dict[str, Said], nodes: tuple[NumaNode, ...] = NODES) -> Gpus:
    found = gpus(items, nodes=nodes)
    assert not isinstance(found, Unknown)
    return found


def reason(items: dict[str, Said], ends: dict[str, int] | None = None) -> Unknown:
    found = gpus(items, ends)
    assert isinstance(found, Unknown)
    return found


WORKS: dict[str, Said] = {"nvidia.xml": XML.format(GPU.format(1) + GPU.format(2)), "pci.devices": BUS.format(1, 0)}


def test_a_gpus_own_memory_is_not_that_of_its_slices() -> None:
    first = known(WORKS).devices[0]
    assert (first.memory_bytes, first.mig_enabled) == (81559 << 20, True)
    assert first.processes == (GpuProcess(12, "python", 512 << 20),)


def test_the_bus_says_which_node_is_near() -> None:
    assert [one.numa_node for one in known(WORKS).devices] == [1, 0]


def test_the_matrix_is_asked_where_the_bus_does_not_tell() -> None:
    matrix = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tSYS\t0-1\t0,2\nGPU1\tSYS\t X \t2-3\t1\n"
    items = {**WORKS, "pci.devices": BUS.format(-1, -1), "nvidia_topology.matrix": matrix}
    assert [one.numa_node for one in known(items).devices] == [0, 1]


def test_a_memory_only_node_is_never_near() -> None:
    items = {**WORKS, "pci.devices": BUS.format(2, 2)}
    assert [one.numa_node for one in known(items).devices] == [None, None]
    assert [one.numa_node for one in known(items, nodes=NODES[:1]).devices] == [0, 0]


def test_a_gpu_on_the_bus_that_the_driver_does_not_show_is_named() -> None:
    items = {**WORKS, "nvidia.xml": XML.format(GPU.format(1))}
    assert known(items).hidden == ("00000002:01:00.0",)


def test_driver_versions_by_their_new_names() -> None:
    answer = parse_xml(XML.format("").replace("driver_version", "kmd_version").replace("cuda_v", "cuda_umd_v"))
    assert not isinstance(answer, Unknown)
    assert (answer.driver, answer.cuda) == ("580.1", "13.0")


@pytest.mark.parametrize(
    "text", ["", "No devices were found", XML[:90], '<!DOCTYPE x [<!ENTITY a "aa">]>' + XML, "<?xml", "\0"]
)
def test_what_is_no_xml(text: str) -> None:
    assert isinstance(parse_xml(text), Unknown)


def test_old_drivers_answer_as_a_table() -> None:
    items: dict[str, Said] = {
        "nvidia.xml": (1, "ERROR: Option -x is not recognized"),
        "nvidia.csv": (
            "index, name, uuid, memory.total [MiB], pci.bus_id, driver_version\n"
            "0, Tesla K80, GPU-1, 11441 MiB, 0001:01:00.0, 418.87\n\n"
            "1, Tesla K80, GPU-2, [N/A], 0002:01:00.0, 418.87\n"
        ),
        "pci.devices": BUS.format(1, 0),
    }
    found = known(items)
    assert found.driver == "418.87"
    assert [(one.name, one.memory_bytes, one.numa_node) for one in found.devices] == [
        ("Tesla K80", 11441 << 20, 1),
        ("Tesla K80", None, 0),
    ]


def test_the_listing_is_the_last_resort() -> None:
    answer = parse_listing(
        "GPU 0: NVIDIA A100 (UUID: GPU-1)\n"
        "  MIG 1g.5gb      Device  0: (UUID: MIG-1)\n"
        "GPU 1: NVIDIA A100 (UUID: GPU-2)\n"
    )
    assert not isinstance(answer, Unknown)
    assert [(one.name, one.uuid) for one in answer.gpus] == [("NVIDIA A100", "GPU-1"), ("NVIDIA A100", "GPU-2")]


def test_a_table_without_rows_or_header() -> None:
    assert isinstance(parse_csv("name, pci.bus_id\n"), Unknown)
    assert isinstance(parse_csv('Field "x" is not a valid field to query.\n'), Unknown)
    assert parse_capabilities("pci.bus_id, compute_cap\n0001:01:00.0, 9.0\n0002:01:00.0, [N/A]\nx, 1\n") == {
        "00000001:01:00.0": "9.0"
    }


def test_none_only_with_an_empty_bus() -> None:
    missing: Said = (127, "nvidia-smi: not found")
    found = known({"nvidia.xml": missing})
    assert (found.vendor, found.devices) == ("none", ())
    on_bus = reason({"nvidia.xml": missing, "pci.devices": BUS.format(0, 0)})
    assert on_bus == Unknown(Why.MISSING_TOOL, "2 NVIDIA GPUs on the PCI bus; nvidia-smi is not installed")
    no_bus = reason({"nvidia.xml": missing, "pci.devices": (1, "no such folder")})
    assert no_bus.why is Why.UNREADABLE


def test_a_tool_that_hangs_is_never_none() -> None:
    assert reason({}, {"nvidia": 124}).why is Why.TIMED_OUT


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "driver_not_loaded"),
        ("No devices were found", "no_devices"),
        ("Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error", "one_gpu_lost"),
    ],
)
def test_a_failure_is_named_with_what_the_bus_has(said: str, name: str) -> None:
    unknown = reason({"nvidia.xml": (9, said), "pci.devices": BUS.format(0, 0)})
    assert unknown.why is Why.UNREADABLE
    assert unknown.detail.startswith(f"2 NVIDIA GPUs on the PCI bus; {name}: ")
    assert said in unknown.detail


def test_a_driver_without_its_hardware_is_none() -> None:
    assert known({"nvidia.xml": (9, "couldn't communicate with the NVIDIA driver")}).vendor == "none"


def test_the_kernels_log_explains_a_vague_failure() -> None:
    log = "NVRM: GPU at PCI:0000:02:00: GPU-2\nNVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.\n"
    items: dict[str, Said] = {
        "nvidia.xml": (15, "Unable to determine the device handle for GPU 0002:01:00.0: Unknown Error"),
        "nvidia.kernel": log,
        "pci.devices": BUS.format(0, 0),
    }
    assert "fallen_off_bus" in reason(items).detail


def test_a_broken_driver_host() -> None:
    unknown = read_gpus(answers(fixture("broken-driver")), ())
    assert isinstance(unknown, Unknown)
    assert unknown.detail.startswith("4 NVIDIA GPUs on the PCI bus; driver_library_mismatch")
