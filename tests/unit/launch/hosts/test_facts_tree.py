"""The tree of one host."""

from __future__ import annotations

from dataclasses import replace

from inventory.facts.base import Unknown, Why
from inventory.facts.host import (
    Device,
    Environment,
    Fabric,
    Gid,
    HugePages,
    LaunchContext,
    Limit,
    Limits,
    RdmaDevice,
    RdmaPort,
    RunningDeployment,
    SecondOpinion,
    Software,
    Weights,
)
from launch.console.tree import Branch, draw
from launch.hosts.facts_tree import tree
from tests.answered import facts, fixture


def lines(host: str, **changes: object) -> list[str]:
    return list(draw(tree(replace(facts(fixture(host)), **changes))))  # type: ignore[arg-type]


def below(drawn: list[str], title: str) -> list[str]:
    """The lines of the branch that begins with `title`, without their drawing."""
    start = next(at for at, line in enumerate(drawn) if line[3:].startswith(title) and line[0] in "├└")
    end = next((at for at in range(start + 1, len(drawn)) if drawn[at][0] in "├└"), len(drawn))
    return [line.lstrip("│├└─ ") for line in drawn[start:end]]


def test_drawing() -> None:
    root = Branch("a", (Branch("b", (Branch("c"), Branch("d"))), Branch("e", (Branch("f"),))))
    assert list(draw(root)) == ["a", "├─ b", "│  ├─ c", "│  └─ d", "└─ e", "   └─ f"]


def test_what_lies_on_a_node() -> None:
    gid = Gid(0, "fe80:0000:0000:0000:0000:0000:0000:0001", "IB")
    port = RdmaPort(1, "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)", "InfiniBand", (gid,))
    near = RdmaDevice("mlx5_3", type="MT4129", firmware="28.42", numa_node=1, netdevs=("ibp1s0",), ports=(port,))
    drawn = lines("h200-hgx", rdma=(near, replace(near, name="mlx5_9", numa_node=None)))
    first, second = below(drawn, "NUMA node 0"), below(drawn, "NUMA node 1")
    assert first[0] == "NUMA node 0: CPUs 0-222:2, 1008 GiB"
    assert [line.split(",")[0] for line in first if line.startswith("GPU")] == [
        f"GPU {n}: NVIDIA H200" for n in range(4)
    ]
    assert first[-1] == "/opt/train/bin/python3 (pid 41877), 67 GiB"
    assert second[-3:] == [
        "NIC mlx5_3 (ibp1s0): MT4129, firmware 28.42",
        "port 1: 4: ACTIVE, 400 Gb/sec (4X NDR), InfiniBand",
        "GID 0: fe80:0000:0000:0000:0000:0000:0000:0001, IB",
    ]
    assert below(drawn, "rdma")[1].startswith("NIC mlx5_9")


def test_a_grace_host_keeps_its_gpus_at_the_processors() -> None:
    drawn = lines("gb200-tray")
    assert [line for line in below(drawn, "NUMA node 2") if "GPU" in line] == []
    assert len([line for line in below(drawn, "NUMA node 0") if line.startswith("GPU")]) == 2


def test_a_gpu_of_no_node_is_not_lost() -> None:
    host = facts(fixture("l40s-4x"))
    drawn = list(draw(tree(replace(host, numa=Unknown(Why.REFUSED, "no /sys")))))
    assert below(drawn, "NUMA nodes") == ["NUMA nodes: unknown (refused: no /sys)"]
    assert len([line for line in below(drawn, "gpus") if line.startswith("GPU ")]) == 4


def test_every_unknown_says_why() -> None:
    drawn = lines("broken-driver")
    assert any(line.startswith(("├─ gpus: unknown (", "└─ gpus: unknown (")) for line in drawn)


def test_software_opinion_and_deployments() -> None:
    software = Software(
        systemd="255",
        container=None,
        docker=None,
        podman=None,
        python="3.12.3",
        uv=None,
        environments=(Environment("abc", "0.32.0", complete=False, simulated=False),),
        weights=(Weights("a/b", "0123456789abcdef", 1 << 40, 64, simulated=True),),
        container_toolkit="1.17.8",
        docker_runtimes=("nvidia", "runc"),
        cdi_specs=("/etc/cdi/nvidia.yaml",),
    )
    deployment = RunningDeployment("v4", "g1", head=True, state="running", supervisor="systemd", pids=(1, 2))
    drawn = lines(
        "cpu-only",
        software=software,
        second_opinion=SecondOpinion("/e/bin/python", 8, (0, 1, 2, 3), None),
        deployments=(deployment,),
    )
    assert below(drawn, "software")[2:] == [
        "GPUs in containers: toolkit 1.17.8, docker runtimes nvidia runc, CDI /etc/cdi/nvidia.yaml",
        "environment abc: vLLM 0.32.0, incomplete",
        "weights a/b 0123456789ab: 64 files, 1.0 TiB, simulated",
    ]
    assert below(drawn, "second opinion")[1:] == [
        "asked in /e/bin/python",
        "psutil: 8 physical cores, CPUs 0-3",
        "py-cpuinfo: not there",
    ]
    assert below(drawn, "deployments")[1:] == ["v4/g1: running, systemd, head, 2 processes"]
    assert "finding: v4 running" in [line.lstrip("├─ ") for line in drawn]


def test_every_fixture_can_be_drawn() -> None:
    for host in ("cpu-only", "dgx-spark", "gb300-tray", "mi300x-cpx", "mi355x-8x"):
        assert len(lines(host)) > 15


def test_limits_and_huge_pages() -> None:
    bound = Limits(Limit(8 << 20, 8 << 20), Limit(1024, 1 << 20), Limit(None, None), Limit(0, None))
    drawn = lines("h200-hgx", limits=bound, huge_pages=HugePages(512, 256, 2 << 20, "always"))
    assert below(drawn, "limits of the login")[1:] == [
        "locked memory 8 MiB, core files 0 B (at most unlimited)",
        "open files 1024 (at most 1048576), processes unlimited",
    ]
    assert below(drawn, "memory")[-1] == "huge pages: 512 of 2 MiB, 256 free; transparent: always"
    none = lines("h200-hgx", huge_pages=HugePages(0, 0, 2 << 20, None))
    assert below(none, "memory")[-1] == "huge pages: none; transparent: unknown"


def test_fabric() -> None:
    tray = Fabric("absent", None, "active", ("192.0.2.1", "192.0.2.2"), (0, 1, 2))
    assert below(lines("gb200-tray", fabric=tray), "fabric")[1:] == [
        "IMEX: active, nodes 192.0.2.1, 192.0.2.2, channels 0-2"
    ]
    hgx = Fabric("failed", "570.133.20", "absent", (), ())
    assert below(lines("h200-hgx", fabric=hgx), "fabric")[1:] == ["fabric manager 570.133.20: failed"]
    unread = Fabric(None, "570.133.20", "inactive", None, None)
    assert below(lines("h200-hgx", fabric=unread), "fabric")[1:] == [
        "fabric manager 570.133.20: no systemd",
        "IMEX: inactive, nodes unknown, channels unknown",
    ]
    nothing = lines("cpu-only", fabric=Fabric("absent", None, "absent", (), ()))
    assert not any("fabric" in line for line in nothing)


def test_links_of_gpus() -> None:
    drawn = below(lines("h200-hgx"), "gpus")
    assert drawn[2] == "links between GPUs: 28x NV18"
    assert drawn[3].startswith("nearest NICs: GPU 0 mlx5_0 (PXB), GPU 1 mlx5_1 (PXB), ")
    assert not any("link" in line or "NIC" in line for line in below(lines("cpu-only"), "gpus"))


def test_where_ranks_start() -> None:
    unit = LaunchContext(
        where="systemd-unit",
        user="ops",
        cgroup="/system.slice/run-u7.service",
        locked_memory=Limit(None, None),
        open_files=Limit(1048576, 1048576),
        cpus_allowed=(0, 1, 2, 3),
        physical_cores=2,
        memory_maximum=64 << 30,
        environment=(("HF_HOME", "/data"),),
        devices=(Device("/dev/kfd", opens=False), Device("/dev/dri/renderD128", opens=True)),
    )
    assert below(lines("gb200-tray", context=unit), "where ranks start")[1:] == [
        "systemd unit, as ops in /system.slice/run-u7.service",
        "2 physical cores, CPUs 0-3",
        "locked memory unlimited, open files 1048576",
        "memory at most 64 GiB",
        "may not open /dev/kfd",
        "HF_HOME=/data",
    ]
    refused = lines("gb200-tray", context=Unknown(Why.REFUSED, "a transient unit could not be started: no bus"))
    assert "├─ where ranks start: unknown (refused: a transient unit could not be started: no bus)" in refused
