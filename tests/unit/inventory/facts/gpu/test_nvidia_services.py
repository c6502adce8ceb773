from __future__ import annotations

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.gpu.nvidia_services import parse_units, read_fabric
from inventory.facts.host import Fabric, ImexDomain
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


def test_what_the_manager_said_before_it_failed() -> None:
    said = "Starting\nERROR: NV_WARN_NOTHING_TO_DO\nsleeping\n"
    failed = {**HGX, "nvidia_services.units": UNITS.replace("=active", "=failed"), "nvidia_services.manager-log": said}
    found = read_fabric(answers(failed))
    assert not isinstance(found, Unknown)
    assert (found.manager, found.manager_says) == ("failed", "ERROR: NV_WARN_NOTHING_TO_DO")


@pytest.mark.parametrize(
    ("said", "known"),
    [("234 nvidia-caps-imex-channels\n", True), ((1, ""), False), ((2, "grep: /x/proc/devices: No such file"), None)],
)
def test_the_device_class_of_channels(said: Said, known: bool | None) -> None:  # noqa: FBT001
    found = read_fabric(answers({**TRAY, "nvidia_services.devices": said}))
    assert not isinstance(found, Unknown)
    assert found.imex_device is known


def test_switches_on_the_bus() -> None:
    switch = "0000:0{}:00.0 0x068000 0x10de 0x22a3 0\n"
    bus = switch.format(5) + switch.format(6) + "0000:07:00.0 0x060400 0x10de 0x1 0\n"
    found = read_fabric(answers({**HGX, "pci.devices": bus}))
    assert not isinstance(found, Unknown)
    assert found.switches == 2


def test_the_domain() -> None:
    found = read_fabric(answers({**TRAY, "nvidia_imex.domain": "READY\n"}))
    assert not isinstance(found, Unknown)
    assert found.imex_domain == ImexDomain("READY")
