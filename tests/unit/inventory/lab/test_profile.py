from __future__ import annotations

import pytest

from inventory.errors import BadInput, BringupError
from inventory.lab import hardware, profile, sysroot
from inventory.lab.profile import Hardware, Profile

AMD = ("mi300x-cpx", "mi355x")
SIMULATED = [name for name in profile.names() if profile.load(name).hardware]


def of(name: str) -> Hardware:
    found = profile.load(name).hardware
    assert found is not None
    return found


def test_the_profiles_that_there_are() -> None:
    assert profile.names() == ("broken-driver", "cpu", "dgx-spark", "few-cores", "gb200", "gb300", "h200", "l40s", *AMD)


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(BadInput, match="no lab profile named gb400") as refused:
        profile.load("gb400")
    assert "gb200, gb300, h200" in refused.value.required


def test_a_profile_outside_the_folder_is_not_looked_for() -> None:
    with pytest.raises(BadInput, match="no lab profile"):
        profile.load("../profiles/cpu")


@pytest.mark.parametrize("name", SIMULATED)
def test_a_profile_agrees_with_itself(name: str) -> None:
    """Every CPU is on one node, every GPU and NIC beside CPUs, every GPU's own memory on a node without."""
    told = of(name)
    with_cpus = {node.id: sysroot.cpu_list(node.cpus) for node in told.nodes if node.cpus}
    without = {node.id for node in told.nodes if not node.cpus}
    assert sorted(cpu for cpus in with_cpus.values() for cpu in cpus) == sysroot.cpu_list(sysroot.all_cpus(told))
    cards = told.gpus or told.cards
    assert cards is not None
    assert {device.node for device in cards.devices} | {nic.node for nic in told.nics} <= with_cpus.keys()
    assert {device.own_node for device in cards.devices} - {None} <= without
    assert not set(sysroot.cpu_list(told.empty_nodes)) & (with_cpus.keys() | without)
    addresses = [gpu.pci for gpu in cards.devices] + [nic.pci for nic in told.nics]
    assert len(set(addresses)) == len(addresses)


def test_gb200_is_a_tray() -> None:
    told = of("gb200")
    assert told.gpus is not None
    assert (told.architecture, told.processor.all_cores, len(told.gpus.devices)) == ("aarch64", 144, 4)
    assert [device.own_node for device in told.gpus.devices] == [2, 10, 18, 26]
    memory = sum(node.mib for node in told.nodes)
    ram = sum(node.mib for node in told.nodes if node.cpus)
    assert (round(memory / 1024), round(ram / 1024, 1)) == (1693, 956.8)


def test_a_spark_shares_its_memory() -> None:
    told = of("dgx-spark")
    assert told.gpus is not None
    assert told.gpus.unified
    assert told.gpus.memory_mib == sum(node.mib for node in told.nodes)


def test_few_cores_is_the_tray_with_a_small_cpuset() -> None:
    few, tray = profile.load("few-cores"), profile.load("gb200")
    assert few.hardware == tray.hardware
    assert hardware.settings(few)["allowed"] == "0-2"
    assert hardware.settings(tray)["allowed"] == "0-143"


def test_broken_driver_keeps_the_hosts_gpus_and_adds_the_failure() -> None:
    broken, whole = profile.load("broken-driver"), profile.load("h200")
    assert broken.hardware == whole.hardware
    assert whole.failure is None
    assert broken.failure is not None
    assert broken.failure.exit_status == 9


def test_a_cpu_host_is_not_simulated() -> None:
    assert hardware.settings(profile.load("cpu")) == {"simulated": "false"}


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_hosts_say_so(name: str) -> None:
    told = hardware.settings(profile.load(name))
    assert told["simulated"] == "true"
    assert "simulated" in profile.load(name).title


def test_a_wrong_key_is_refused_with_its_place(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "FOLDER", tmp_path)
    text = "title: x\nhardwear: {}\n"
    (profile.FOLDER / "odd.yaml").write_text(text)
    with pytest.raises(BringupError, match=r"odd.yaml:2:1") as refused:
        profile.load("odd")
    assert "hardware" in str(refused.value)


def test_an_override_wins_over_what_it_is_based_on(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(profile, "FOLDER", tmp_path)
    (profile.FOLDER / "base.yaml").write_text("title: base\ndisk: 7T\nallowed: 0-7\n")
    (profile.FOLDER / "derived.yaml").write_text("title: derived\nbased_on: base\nallowed: 0-1\n")
    assert profile.load("derived") == Profile(title="derived", disk="7T", allowed="0-1")
