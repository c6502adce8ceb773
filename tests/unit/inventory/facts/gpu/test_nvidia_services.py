from __future__ import annotations

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.gpu.nvidia_services import parse_units, read_fabric
from inventory.facts.host import Fabric
from tests.answered import Said, answers

UNITS = """\
Id=nvidia-fabricmanager.service
LoadState=loaded
ActiveState=active

Id=nvidia-imex.service
LoadState=not-found
ActiveState=inactive
"""
HGX: dict[str, Said] = {
    "nvidia_services.units": UNITS,
    "nvidia_services.fabric-manager": "Fabric Manager version is : 570.133.20\n",
    "nvidia_services.imex-nodes": (1, "cat: /etc/nvidia-imex/nodes_config.cfg: No such file or directory"),
    "nvidia_services.imex-channels": (
        2,
        "ls: cannot access '/dev/nvidia-caps-imex-channels': No such file or directory",
    ),
}
TRAY: dict[str, Said] = {
    "nvidia_services.units": UNITS.replace("not-found", "loaded").replace("=inactive", "=failed"),
    "nvidia_services.fabric-manager": (127, "./.sections: 9: nv-fabricmanager: not found"),
    "nvidia_services.imex-nodes": "# rack 7\n192.0.2.1\n192.0.2.2  # second tray\n\n",
    "nvidia_services.imex-channels": "channel0\nchannel10\nchannel2\n",
}


def test_nvswitches_of_the_host_itself() -> None:
    assert read_fabric(answers(HGX)) == Fabric("active", "570.133.20", "absent", (), ())


def test_nvlink_between_hosts() -> None:
    found = read_fabric(answers(TRAY))
    assert found == Fabric("active", None, "failed", ("192.0.2.1", "192.0.2.2"), (0, 2, 10))


def test_no_systemd_tells_no_state() -> None:
    assert read_fabric(answers({**HGX, "nvidia_services.units": ""})) == Fabric(None, "570.133.20", None, (), ())


def test_files_that_may_not_be_read_are_not_empty() -> None:
    refused = (1, "cat: /etc/nvidia-imex/nodes_config.cfg: Permission denied")
    found = read_fabric(answers({**TRAY, "nvidia_services.imex-nodes": refused}))
    assert not isinstance(found, Unknown)
    assert (found.imex_nodes, found.imex_channels) == (None, (0, 2, 10))


def test_a_service_manager_that_hangs_or_refuses() -> None:
    hung = read_fabric(answers({"nvidia_services.imex-nodes": ""}, ends={"nvidia_services": 124}))
    assert isinstance(hung, Unknown)
    assert hung.why is Why.TIMED_OUT
    refused = read_fabric(answers({**HGX, "nvidia_services.units": (1, "Failed to connect to bus: Access denied")}))
    assert isinstance(refused, Unknown)
    assert refused.why is Why.REFUSED


@pytest.mark.parametrize("text", ["", "\n\n", "Id=x\n", "no equals sign", UNITS.replace("Id=", "")])
def test_no_units(text: str) -> None:
    assert parse_units(text) == {}
