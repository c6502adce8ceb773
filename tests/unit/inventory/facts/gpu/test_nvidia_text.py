from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.gpu.nvidia_csv import parse_table_of
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer
from inventory.facts.gpu.nvidia_table import parse_table, rows, tool_version
from inventory.facts.gpu.nvidia_text import parse_text
from inventory.facts.host import GpuProcess

OUTLINE = """
==============NVSMI LOG==============

Timestamp                                 : Tue Jul 14 09:00:27 2026
Driver Version                            : 610.57.04 [Deprecated; will be removed. Use KMD Version instead]
CUDA Version                              : 13.3

Attached GPUs                             : 2
GPU 00000000:00:09.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : Enabled
    Addressing Mode                       : None
    MIG Mode
        Current                           : Enabled
        Pending                           : Enabled
    MIG Device
        Index                             : 0
        FB Memory Usage
            Total                         : 40448 MiB
    MIG Device
        Index                             : 1
    GPU UUID                              : GPU-1
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 59 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
    Compute Mode                          : Default
    ECC Mode
        Current                           : Enabled
    Fabric
        State                             : Completed
        Status                            : Success
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 41877
            Type                          : C
            Name                          : python3
            Used GPU Memory               : 512 MiB
        Process ID                        : 41878
            Name                          : python3
            Used GPU Memory               : [N/A]
GPU 00000000:00:0A.0
    Product Name                          : NVIDIA GB10
    FB Memory Usage
        Total                             : N/A
    Processes                             : None
"""
TABLE = """| NVIDIA-SMI 580.126.09             Driver Version: 580.126.09     CUDA Version: 13.0     |
|=========================================+========================+======================|
|   0  NVIDIA RTX 6000 Ada Gene...    On  |   00000000:25:00.0 Off |                    0 |
| N/A   27C    P0             72W /  700W |       1MiB /  49140MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   36C    P8              3W /  N/A  | Not Supported          |      0%      Default |
|   2  Tesla V100-PCIE...  On   | 00008ED0:00:00.0 Off |                    0 |
| N/A   29C    P0   ERR! / 250W |    593MiB / 16160MiB |      0%      Default |
| MIG devices:                                                                            |
|  0    2   0   0  |              26MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
| Processes:                                                                              |
|    0   N/A  N/A            1696      G   /usr/bin/gnome-shell                    176MiB |
"""


def known(answer: NvidiaAnswer | Unknown) -> NvidiaAnswer:
    assert not isinstance(answer, Unknown)
    return answer


def test_the_outline() -> None:
    answer = known(parse_text(OUTLINE))
    assert (answer.driver, answer.cuda, answer.attached) == ("610.57.04", "13.3", 2)
    first, second = answer.gpus
    assert (first.name, first.uuid, first.pci_address) == ("NVIDIA H100 80GB HBM3", "GPU-1", "00000000:00:09.0")
    assert (first.memory_bytes, first.mig_enabled, first.mig_devices) == (81559 << 20, True, 2)
    assert (first.ecc, first.fabric_state, first.addressing_mode) == ("Enabled", "Completed", "None")
    assert first.processes == (GpuProcess(41877, "python3", 512 << 20), GpuProcess(41878, "python3", None))
    assert (second.name, second.memory_bytes, second.mig_mode, second.processes) == ("NVIDIA GB10", None, None, ())


def test_newer_drivers_call_their_versions_otherwise() -> None:
    answer = known(
        parse_text(OUTLINE.replace("Driver Version", "KMD Version").replace("CUDA Version", "CUDA UMD Version"))
    )
    assert (answer.driver, answer.cuda) == ("610.57.04", "13.3")


def test_the_table() -> None:
    assert tool_version(TABLE) == "580.126.09"
    answer = known(parse_table(TABLE))
    assert (answer.driver, answer.cuda) == ("580.126.09", "13.0")
    cut, unified, broken = rows(TABLE)
    assert (cut.index, cut.name_is_cut, cut.gpu.memory_bytes, cut.power) == (0, True, 49140 << 20, "72W")
    assert (unified.gpu.memory_bytes, unified.memory_note) == (None, "Not Supported")
    assert (broken.gpu.pci_address, broken.power, broken.gpu.memory_bytes) == ("00008ed0:00:00.0", None, 16160 << 20)


def test_a_table_without_its_header() -> None:
    assert parse_table_of("0, 00000000:4A:00.0\n") == [{"index": "0", "pci.bus_id": "00000000:4A:00.0"}]
    assert parse_table_of("GeForce GTX 1080 Ti, 53 %, [Unknown Error]\n") == [
        {"name": "GeForce GTX 1080 Ti", "untold": "[Unknown Error]"}
    ]
    assert parse_table_of("name, index\nTesla T4, 0\n") == [{"name": "Tesla T4", "index": "0"}]


def test_what_is_neither() -> None:
    assert isinstance(parse_text("No devices were found\n"), Unknown)
    assert isinstance(parse_table("No devices were found\n"), Unknown)
