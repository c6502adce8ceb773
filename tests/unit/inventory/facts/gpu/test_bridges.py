from __future__ import annotations

from inventory.facts.base import Unknown, Why
from inventory.facts.gpu.bridges import parse_bridges, read_bridges
from inventory.facts.host import Bridge
from tests.answered import Said, answers

PATHS = "/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/0000:42:00.0/0000:43:00.0\n"
ACS = """\
0000:40:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Device 14ab
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
0000:42:00.0 PCI bridge: PLX Technology, Inc. Device 9797
\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
0000:80:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Device 14ab
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
"""
ITEMS: dict[str, Said] = {"bridges.paths": PATHS, "bridges.acs": ACS}


def test_those_above_gpus() -> None:
    assert read_bridges(answers(ITEMS)) == (
        Bridge("00000000:40:01.1", ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")),
        Bridge("00000000:42:00.0", ()),
    )


def test_all_of_a_pasted_text() -> None:
    assert [one.address for one in parse_bridges(ACS)] == ["00000000:40:01.1", "00000000:42:00.0", "00000000:80:01.1"]


def test_capabilities_for_root_alone() -> None:
    denied = "0000:40:01.1 PCI bridge: AMD\n\tCapabilities: <access denied>\n"
    found = read_bridges(answers({**ITEMS, "bridges.acs": denied}))
    assert isinstance(found, Unknown)
    assert found.why is Why.REFUSED


def test_no_lspci() -> None:
    assert isinstance(read_bridges(answers({**ITEMS, "bridges.acs": (127, "lspci: not found")})), Unknown)
    assert isinstance(read_bridges(answers({"bridges.acs": ACS})), Unknown)
