"""What AMD's repositories call a system, its GPUs and its driver; what is not known is said, never guessed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.facts.base import NOT_ASKED, Unknown, Why
from inventory.facts.host import BusGpu, Driver, Gpus, HostFacts
from playbooks.amd_values import architecture, module, os_major, rpm_version, suite
from playbooks.schema import find, load_playbook
from playbooks.situation import Situation
from playbooks.wanted import settings_of, wanted_on
from tests.unit.playbooks.checks.gang import change, gpu, tray

NO_DRIVER = Unknown(Why.MISSING_TOOL, "8 AMD GPUs on the PCI bus")


def bare(*devices: str, os: str = "ubuntu-24.04", hypervisor: str | None = None) -> HostFacts:
    """A host whose GPUs only the bus tells."""
    name, _, version = os.partition("-")
    family = "debian" if name in {"ubuntu", "debian"} else "rhel"
    kernel = "6.8.0-64-generic" if family == "debian" else "5.14.0-570.el9.x86_64"
    on_bus = tuple(BusGpu(f"00000000:{n:02x}:00.0", "amd", device) for n, device in enumerate(devices))
    facts = replace(tray(), gpus=NO_DRIVER, bus_gpus=on_bus)
    facts = change(facts, "system", id=name, version=version, family=family, kernel=kernel, hypervisor=hypervisor)
    return replace(facts, driver=Driver(next_kernel=kernel))


def at(facts: HostFacts, **settings: str) -> Situation:
    return Situation(facts, NO_DRIVER, settings=settings)


@pytest.mark.parametrize(
    ("os", "name"),
    [("ubuntu-22.04", "jammy"), ("ubuntu-24.04", "noble"), ("debian-12", "jammy"), ("debian-13", "noble")],
)
def test_the_suite_of_the_driver(os: str, name: str) -> None:
    assert suite(at(bare("75a3", os=os))) == name


def test_a_system_that_amd_has_no_driver_for_is_told() -> None:
    found = suite(at(bare("75a3", os="debian-11")))
    assert isinstance(found, Unknown)
    assert "debian-11" in found.detail


@pytest.mark.parametrize(
    ("device", "name"), [("74a1", "gfx942"), ("74a5", "gfx942"), ("75a3", "gfx950"), ("740f", "gfx90a")]
)
def test_the_architecture_by_the_bus(device: str, name: str) -> None:
    assert architecture(at(bare(device, device))) == name


def test_the_driver_knows_better_than_the_bus() -> None:
    gpus = tuple(replace(gpu(n, "tray1"), compute_capability="gfx942") for n in range(2))
    facts = replace(bare("75a3"), gpus=Gpus("amd", "7.1.3", None, gpus, simulated=False))
    assert architecture(at(facts)) == "gfx942"


@pytest.mark.parametrize("devices", [(), ("ffff",), ("74a1", "75a3")])
def test_gpus_that_nothing_tells_are_unknown(devices: tuple[str, ...]) -> None:
    assert isinstance(architecture(at(bare(*devices))), Unknown)


def test_versions_of_the_module_and_of_packages() -> None:
    assert module(at(bare("75a3"), driver="7.1.3.31500000")) == "7.1.3"
    assert isinstance(module(at(bare("75a3"))), Unknown)
    assert os_major(at(bare("75a3", os="rocky-9.6"))) == "9"
    assert rpm_version("5.14.0-570.el9.x86_64") == "5.14.0-570.el9"
    for other in ("5.14.0-570.el9.aarch64+64k", "6.8.0-64-generic"):
        assert isinstance(rpm_version(other), Unknown)
    assert rpm_version(NOT_ASKED) is NOT_ASKED


def planned(facts: HostFacts, **typed: str) -> set[str]:
    """Ids of the steps of amd.yaml that count on this host."""
    book = load_playbook(find("amd"))
    settings = settings_of([book], typed)
    situation = Situation(facts, NO_DRIVER, settings=settings["amd"])
    return {step.id.removeprefix("amd/") for step in wanted_on([book], {"amd": situation}).steps}


def test_a_bare_host_is_planned_by_its_bus_alone() -> None:
    debian, rhel = planned(bare("75a3")), planned(bare("75a3", os="rocky-9.6"))
    assert {
        "driver-repository-debian",
        "headers-debian",
        "driver",
        "iommu-debian",
        "restart",
        "device-groups",
    } <= debian
    assert {"driver-repository-rhel", "headers-rhel", "versionlock", "driver", "iommu-rhel", "restart"} <= rhel
    assert not {name for name in debian if name.endswith("-rhel")}
    assert not {name for name in rhel if name.endswith("-debian")}


def test_what_is_packed_in_the_classic_way_comes_from_its_own_folder() -> None:
    found = planned(bare("74a1"), packages="classic", rocm="7.2.3")
    assert {"classic-repository-debian", "amd-smi-classic"} <= found
    assert not {"rocm-repository-debian", "amd-smi", "rocm-debian"} & found


def test_compilers_come_only_where_they_are_asked_for() -> None:
    assert "rocm-debian" not in planned(bare("75a3"))
    assert "rocm-debian" in planned(bare("75a3"), rocm_on_host="yes")


def test_the_iommu_of_a_virtual_machine_is_the_hypervisors() -> None:
    found = planned(bare("75a3", hypervisor="KVM"))
    assert "restart-of-virtual" in found
    assert not {"iommu-debian", "iommu-in-menu-debian", "restart"} & found


def test_other_hosts_have_nothing_of_it() -> None:
    assert planned(tray()) == set()
