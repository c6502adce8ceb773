"""The simulated tool against what is known of the real one; against captures of real hosts where they are there."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from inventory.lab import hardware, profile
from inventory.lab.nvidia import smi
from inventory.lab.nvidia.described import described
from inventory.lab.nvidia.machine import HERE, Machine, Process, Refused, read_machine

CAPTURES = Path(__file__).resolve().parents[4] / "../shared/corpus"
GB200_XML = CAPTURES / "nvidia-smi-xml/nvidia-qx-gb200/qx-gb200.xml"
H200 = CAPTURES / "nvidia-smi-capture/nge-nvidia-h200-590.48.01"
needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason="no captures of real hosts beside the checkout")


def machine(name: str, *processes: Process) -> Machine:
    return Machine(json.loads(described(profile.load(name), "lab", "tray1")), processes)


def ask(line: str, name: str = "gb200", *processes: Process) -> str:
    return smi.answer(line.split(), machine(name, *processes))


def parsed(xml: str) -> ET.Element:
    return ET.fromstring(xml)  # noqa: S314  (our own text, or a capture)


def keys(text: str) -> list[str]:
    """The labels of a `-q` text, in order, with their indentation."""
    return [line.partition(" :")[0].rstrip() for line in text.splitlines()]


def test_list() -> None:
    lines = ask("-L").splitlines()
    assert [line.partition(" (UUID: GPU-")[0] for line in lines] == [f"GPU {n}: NVIDIA GB200" for n in range(4)]
    assert all(re.search(r"\(UUID: GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\)$", line) for line in lines)


def test_memory_that_is_the_hosts_is_not_told() -> None:
    """In each form's own words, as a GB10 does."""
    assert ask("--query-gpu=memory.total,memory.used --format=csv,noheader", "dgx-spark") == "[N/A], [N/A]\n"
    gpu = parsed(ask("-q -x", "dgx-spark")).find("gpu")
    assert gpu is not None
    assert [one.text for one in gpu.iterfind("fb_memory_usage/*")] == ["N/A"] * 4
    assert "Not Supported" in ask("", "dgx-spark")


def test_every_gpu_of_every_host_has_its_own_uuid() -> None:
    told = [json.loads(described(profile.load("h200"), "lab", host)) for host in ("tray1", "tray2")]
    uuids = [gpu["uuid"] for one in told for gpu in one["gpus"]]
    assert len(set(uuids)) == 16


def test_trays_of_a_lab_share_the_nvlink_domain() -> None:
    told = [json.loads(described(profile.load("gb200"), lab, host)) for lab, host in ("aa", "ab", "ba")]
    clusters = [one["gpus"][0]["cluster_uuid"] for one in told]
    assert clusters[0] == clusters[1] != clusters[2]


def test_query_gpu_as_csv() -> None:
    answer = ask("--query-gpu=index,name,memory.total,compute_cap,pci.bus_id --format=csv")
    assert answer.splitlines()[:2] == [
        "index, name, memory.total [MiB], compute_cap, pci.bus_id",
        "0, NVIDIA GB200, 189471 MiB, 10.0, 00000008:01:00.0",
    ]


def test_query_gpu_without_header_and_units() -> None:
    answer = ask("--query-gpu memory.total,fan.speed --format csv,noheader,nounits -i 00000018:01:00.0")
    assert answer == "189471, [N/A]\n"


@pytest.mark.parametrize("one", ["2", "00000018:01:00.0"])
def test_one_gpu_by_index_or_address(one: str) -> None:
    assert ask(f"--query-gpu=index --format=csv,noheader --id={one}") == "2\n"
    assert "Attached GPUs" in ask(f"-q -i {one}")


@pytest.mark.parametrize(
    ("line", "said", "status"),
    [
        ("--query-gpu=index,cuda_version --format=csv", 'Field "cuda_version" is not a valid field to query.', 2),
        ("--query-gpu=index", "Invalid combination of input arguments", 2),
        ("--query-gpu=index --format=json", "Invalid combination of input arguments", 2),
        ("topo -m -i 0", "Invalid combination of input arguments", 2),
        ("-q -L", "Invalid combination of input arguments", 2),
        ("-x", "Invalid combination of input arguments", 2),
        ("--frobnicate", "Invalid combination of input arguments", 2),
        ("-L --format=csv", "Invalid combination of input arguments", 2),
        ("-i", "Invalid combination of input arguments", 2),
        ("-L -i 7", "No devices were found", 6),
    ],
)
def test_wrong_use(line: str, said: str, status: int) -> None:
    with pytest.raises(Refused, match=re.escape(said)) as refused:
        ask(line)
    assert refused.value.status == status


def test_a_process_shows_in_every_answer() -> None:
    busy = Process(1, 4242, 1500, "/opt/engine & <co>")
    assert ask("--query-compute-apps=pid,used_memory,process_name --format=csv", "gb200", busy) == (
        "pid, used_gpu_memory [MiB], process_name\n4242, 1500 MiB, /opt/engine & <co>\n"
    )
    assert ask("--query-gpu=memory.used --format=csv,noheader,nounits", "gb200", busy) == "0\n1500\n0\n0\n"
    tree = parsed(ask("-q -x", "gb200", busy))
    assert [gpu.findtext("fb_memory_usage/used") for gpu in tree.iter("gpu")][:2] == ["0 MiB", "1500 MiB"]
    assert [one.text for one in tree.iter("process_name")] == ["/opt/engine & <co>"]
    assert tree.findtext("gpu[2]/processes/process_info/pid") == "4242"
    assert re.search(r"Process ID +: 4242\n +Type +: C\n", ask("-q", "gb200", busy))
    assert re.search(r"\|    1   N/A  N/A            4242      C   /opt/engine", ask("", "gb200", busy))


def test_no_process_is_a_header_only() -> None:
    assert ask("--query-compute-apps=pid --format=csv") == "pid\n"
    assert ask("--query-compute-apps=pid --format=csv,noheader") == ""
    assert "No running processes found" in ask("")


def test_a_process_that_has_ended_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "gpus.json").write_text(described(profile.load("gb200"), "lab", "tray1"))
    (tmp_path / "processes").write_text(f"0 {os.getpid()} 100 pytest now\n0 {2**22} 100 gone\n")
    found = read_machine(tmp_path, tmp_path / "processes").processes
    assert found == (Process(0, os.getpid(), 100, "pytest now"),)


def test_topology_of_a_tray() -> None:
    lines = ask("topo -m").splitlines()
    assert lines[0].startswith("\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0")
    assert lines[1].split("\t") == [
        *("GPU0", " X ", "NV18", "NV18", "NV18", "SYS", "SYS", "SYS", "SYS"),
        *("0-71", "0,3-9,11-17", "", "2"),
    ]
    assert "  NIC3: mlx5_3" in lines


def test_topology_of_a_board_puts_each_gpu_beside_its_adapter() -> None:
    rows = [line.split("\t") for line in ask("topo -m", "h200").splitlines()[1:9]]
    assert [row[9 + n] for n, row in enumerate(rows)] == ["PIX"] * 8
    assert rows[0][9:17] == ["PIX", "NODE", "NODE", "NODE", "SYS", "SYS", "SYS", "SYS"]
    assert rows[7][-4:] == ["56-111,168-223", "1", "", "N/A"]


def test_xml_says_that_it_is_simulated_and_names_every_gpu() -> None:
    text = ask("-q -x", "h200")
    assert "<!-- simulated by the lab of bringup -->" in text
    tree = parsed(text)
    assert tree.findtext("attached_gpus") == "8"
    assert tree.findtext("driver_version") == "590.48.01"
    assert [gpu.get("id") for gpu in tree.iter("gpu")][7] == "00000000:DB:00.0"
    assert {gpu.findtext("fb_memory_usage/total") for gpu in tree.iter("gpu")} == {"143771 MiB"}
    assert tree.findtext("gpu/pci/pci_device_id") == "233510DE"


def test_every_line_of_the_table_is_as_wide_as_the_others() -> None:
    lines = [line for line in ask("", "h200").splitlines()[1:] if line]
    assert {len(line) for line in lines} == {91}


def test_help_says_that_it_is_simulated() -> None:
    assert "simulated by the lab of bringup" in ask("--help")


@needs_captures
def test_xml_elements_are_those_of_a_real_tray() -> None:
    """Ours are a part of the real ones, at the same places and in the same order."""

    def places(gpu: ET.Element) -> list[str]:
        found: list[str] = []

        def walk(element: ET.Element, path: str) -> None:
            for child in element:
                found.append(f"{path}/{child.tag}")
                walk(child, found[-1])

        walk(gpu, "")
        return found

    real = places(next(parsed(GB200_XML.read_text()).iter("gpu")))
    ours = places(next(parsed(ask("-q -x")).iter("gpu")))
    newer = {"/clocks_event_reasons/clocks_event_reason_display_clocks_setting"}
    assert [place for place in ours if place not in {*real, *newer}] == []
    assert [place for place in ours if place in real] == [place for place in real if place in ours]


@needs_captures
def test_log_labels_are_those_of_a_real_host() -> None:
    real = keys((H200 / "q.txt").read_text())
    ours = keys(smi.answer(["-q"], machine("h200").only("0")))
    ours = [key for key in ours if key and not key.startswith("GPU 0000")]
    assert [key for key in ours if key not in real] == []


@needs_captures
def test_table_of_one_h200_is_the_real_one() -> None:
    """Cell for cell, but for the address and what changes from moment to moment."""
    real = (H200 / "table.txt").read_text().replace("00000000:83:00.0", "00000000:19:00.0").splitlines()
    ours = smi.answer([], machine("h200").only("0")).splitlines()
    assert ours[1:] == real[1:]


@needs_captures
def test_columns_are_named_as_on_a_real_host() -> None:
    with (H200 / "query-gpu.csv").open() as file:
        real = next(csv.reader(file, skipinitialspace=True))
    fields = [field for field in _known_fields() if not field.startswith("gpu_") or field == "gpu_recovery_action"]
    ours = smi.answer([f"--query-gpu={','.join(fields)}", "--format=csv"], machine("h200"))
    assert [name for name in ours.splitlines()[0].split(", ") if name not in real] == []


def _known_fields() -> list[str]:
    lines = (HERE / "query-gpu.fields").read_text().splitlines()
    return [line.partition(" |")[0] for line in lines if "|" in line and not line.startswith("#")]


@needs_captures
@pytest.mark.parametrize(("question", "file"), [("--version", "version.txt"), ("-L", "list.txt")])
def test_short_answers_have_the_real_form(question: str, file: str) -> None:
    def form(text: str) -> str:
        return re.sub(r"GPU-[0-9a-f-]+", "GPU-", text)

    ours = smi.answer([question], machine("h200").only("0"))
    assert form(ours) == form((H200 / file).read_text())


@pytest.mark.parametrize(("name", "status"), [("gb200", 0), ("broken-driver", 9)])
def test_the_tool_as_it_lies_in_a_host(tmp_path: Path, name: str, status: int) -> None:
    """Its files alone, run without the checkout, by the shell script that hosts have."""
    told = profile.load(name)
    hardware.write_tool(tmp_path, Path(sys.executable).resolve())
    hardware.write_own(told, tmp_path, "lab", "tray1")
    starter = tmp_path / "usr/bin/nvidia-smi"
    starter.write_text(starter.read_text().replace("/opt/bringup-lab", f"{tmp_path}/opt/bringup-lab"))
    done = subprocess.run(
        [starter, "-L"], capture_output=True, text=True, cwd="/", env={"PATH": os.defpath}, check=False
    )
    assert (done.returncode, done.stderr) == (status, "")
    if status:
        assert done.stdout.startswith("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
    else:
        assert done.stdout == ask("-L")
