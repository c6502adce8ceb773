"""Outputs of tools that people sent, as a folder for `--replay`."""

from __future__ import annotations

from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.facts.base import Unknown, Why
from inventory.facts.host import Gpus
from launch.hosts.bundles import replayed, save
from launch.hosts.facts_table import fact_rows
from launch.hosts.pasted import are_pasted
from tests.answered import HOSTS


def sent(folder: Path, **files: str) -> Path:
    """A folder with copies of what a fixture host answered: `name="host/item"`."""
    folder.mkdir(parents=True)
    for name, source in files.items():
        (folder / f"{name}.txt").write_bytes((HOSTS / source).read_bytes())
    return folder


def test_a_folder_a_host(tmp_path: Path) -> None:
    sent(tmp_path / "gpu1", smi="h200-hgx/nvidia.xml", topo="h200-hgx/nvidia_topology.matrix")
    sent(tmp_path / "gpu2", static="mi355x-8x/amd.static")
    answered = replayed(tmp_path, "all")
    facts = answered.facts()
    assert list(facts) == ["gpu1", "gpu2"]
    first, second = facts["gpu1"].gpus, facts["gpu2"].gpus
    assert isinstance(first, Gpus)
    assert isinstance(second, Gpus)
    assert {one.name for one in first.devices} == {"NVIDIA H200"}
    assert {link.kind for link in first.links if isinstance(link.to, int)} == {"NV18"}
    assert [link.to for link in first.nearest_nics(3)] == ["mlx5_3"]
    assert (second.vendor, len(second.devices), second.driver) == ("amd", 8, "6.16.6")
    assert facts["gpu2"].memory == Unknown(Why.NOT_ASKED, "not in what was pasted")
    rows = {row[0]: row for row in fact_rows(answered, facts)[1]}
    assert rows["gpu1"][1:3] == ("8x H200 140 GiB", "580.95.05")


def test_one_host_without_a_folder_of_its_own_and_windows_line_ends(tmp_path: Path) -> None:
    place = sent(tmp_path / "gpu7")
    text = (HOSTS / "l40s-4x/nvidia.xml").read_text()
    (place / "smi.txt").write_bytes("\ufeff".encode() + text.replace("\n", "\r\n").encode())
    facts = replayed(place, "all").facts()["gpu7"]
    assert isinstance(facts.gpus, Gpus)
    assert len(facts.gpus.devices) == 4


def test_a_matrix_of_another_machine_tells_no_distances(tmp_path: Path) -> None:
    place = sent(tmp_path / "gpu1", smi="l40s-4x/nvidia.xml", topo="h200-hgx/nvidia_topology.matrix")
    facts = replayed(place, "gpu1").facts()["gpu1"]
    assert isinstance(facts.gpus, Gpus)
    assert facts.gpus.links == ()


def test_hosts_are_chosen_as_of_a_bundle(tmp_path: Path) -> None:
    sent(tmp_path / "gpu1", smi="h200-hgx/nvidia.xml")
    sent(tmp_path / "gpu2", smi="l40s-4x/nvidia.xml")
    assert list(replayed(tmp_path, "gpu2").hosts) == ["gpu2"]
    with pytest.raises(BadInput, match="gpu3 is not in the bundle"):
        replayed(tmp_path, "gpu3")


def test_texts_of_no_tool_are_refused(tmp_path: Path) -> None:
    place = sent(tmp_path / "gpu1")
    (place / "notes.txt").write_text("the host with the noisy fan\n")
    with pytest.raises(BadInput) as refused:
        replayed(tmp_path, "all")
    assert "notes.txt" in refused.value.observed
    assert "nvidia-smi" in refused.value.required


def test_an_empty_folder_and_a_name_that_no_host_can_have(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="tells of no host"):
        replayed(tmp_path, "all")
    sent(tmp_path / "gpu 1!", smi="l40s-4x/nvidia.xml")
    with pytest.raises(BadInput) as refused:
        replayed(tmp_path, "all")
    assert "named as the hosts are" in refused.value.required


def test_a_bundle_that_lost_its_head_is_not_taken_for_texts(tmp_path: Path) -> None:
    (tmp_path / "gpu1").mkdir()
    (tmp_path / "gpu1" / "ANSWER.json").write_text("{}")
    assert not are_pasted(tmp_path)
    assert not are_pasted(HOSTS)
    with pytest.raises(BadInput, match=r"BUNDLE\.json|cannot be used"):
        replayed(tmp_path, "all")


def test_what_was_sent_is_not_saved_as_answers(tmp_path: Path) -> None:
    sent(tmp_path / "a" / "gpu1", smi="l40s-4x/nvidia.xml")
    with pytest.raises(BadInput) as refused:
        save(tmp_path / "b", replayed(tmp_path / "a", "all"), raw=False)
    assert "not answers of hosts" in refused.value.observed
    assert not (tmp_path / "b").exists()
