"""The real script on this machine, under every shell that is here."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inventory.facts.answers import unframe
from inventory.facts.base import Unknown, Why
from inventory.facts.bundle import read
from inventory.facts.gather import SECTIONS, Asked, deadline, gather, script
from inventory.facts.host import HostFacts
from inventory.transport.local import LocalTransport

Run = Callable[..., bytes]
SHELLS = ("dash", "bash", "busybox")


@pytest.fixture(params=SHELLS)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Run a script as /bin/sh would, `tools` before everything else on PATH."""
    shell = shutil.which(request.param)
    if shell is None:
        pytest.skip(f"{request.param} is not installed")
    programs = tmp_path / "shell"
    programs.mkdir()
    names = {"sh"}
    if request.param == "busybox":
        names |= set(subprocess.run([shell, "--list"], check=True, capture_output=True, text=True).stdout.split())
    for name in names:
        (programs / name).symlink_to(shell)

    def run_script(text: str, tools: Path | None = None, **environment: str) -> bytes:
        path = f"{tools}:{programs}:{os.environ['PATH']}" if tools else f"{programs}:{os.environ['PATH']}"
        done = subprocess.run(
            [programs / "sh", "-c", text],
            env={"PATH": path, "HOME": str(tmp_path), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.stderr == b""
        assert done.returncode == 0
        return done.stdout

    return run_script


def tool(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return folder


def facts(answer: bytes) -> HostFacts:
    now = time.time()
    return read(answer, host="here", noise=b"", seconds=1, sent_at=now, received_at=now)


def test_this_machine(run: Run, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    text = script(Asked(state_dir=str(tmp_path / "state"), addresses=("127.0.0.1", "localhost")))
    assert "for parent in /dev/shm " in text
    answer = run(text.replace("for parent in /dev/shm ", f"for parent in {files} "))
    got = unframe(answer)
    assert (got.fault, got.damaged) == ("", frozenset())
    assert {f"{name}.end" for name, _ in SECTIONS} <= set(got.files)
    host = facts(answer)
    for subject in (host.system, host.cpu, host.memory, host.file_systems, host.software, host.deployments):
        assert not isinstance(subject, Unknown)
    assert not isinstance(host.cpu, Unknown)
    assert set(host.cpu.allowed) == os.sched_getaffinity(0)
    assert not isinstance(host.system, Unknown)
    assert host.system.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert abs(host.system.clock_offset_s) < 30
    assert list(files.iterdir()) == []


def test_routes_and_listeners(run: Run) -> None:
    if shutil.which("ip") is None:
        pytest.skip("needs iproute2")
    host = facts(run(script(Asked(addresses=("127.0.0.1", "localhost", "no-such-host.invalid")))))
    assert not isinstance(host.network, Unknown)
    assert {route.to: route.interface for route in host.network.routes} == {"127.0.0.1": "lo", "localhost": "lo"}
    assert not isinstance(host.listeners, Unknown)


def test_a_tool_that_hangs_costs_only_its_section(run: Run, tmp_path: Path) -> None:
    """It ignores TERM and holds its output open, as a driver that hangs does."""
    pids = tmp_path / "pids"
    tools = tool(tmp_path / "tools", "nvidia-smi", f"trap '' TERM\necho $$ >>{pids}\nwhile :; do sleep 1; done")
    begun = time.monotonic()
    host = facts(run(script(Asked(state_dir=str(tmp_path), seconds=6)), tools))
    assert time.monotonic() - begun < 20
    assert isinstance(host.gpus, Unknown)
    assert host.gpus.why is Why.TIMED_OUT
    assert not isinstance(host.cpu, Unknown)
    assert not isinstance(host.software, Unknown)
    assert [pid for pid in map(int, pids.read_text().split()) if is_alive(pid)] == []


def test_a_section_that_cannot_even_be_killed_does_not_hold_the_others(tmp_path: Path) -> None:
    """A process in the kernel's hands: `timeout`, whose deadline has no effect, waits for it."""
    tools = tool(
        tmp_path / "tools",
        "timeout",
        '[ "$1" != --version ] || { echo \'timeout (GNU coreutils)\'; exit; }\nshift 3\nexec "$@"',
    )
    tool(tools, "nvidia-smi", "exec sleep 8")
    begun = time.monotonic()
    done = subprocess.run(
        ["/bin/sh", "-c", script(Asked(state_dir=str(tmp_path), seconds=1))],
        env={"PATH": f"{tools}:{os.environ['PATH']}"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert time.monotonic() - begun < 8
    unknown = unframe(done.stdout).item("nvidia.xml")
    assert unknown == Unknown(Why.TIMED_OUT, "nvidia: did not end, not even when killed")
    assert not isinstance(facts(done.stdout).cpu, Unknown)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_any_bytes_come_through(run: Run, tmp_path: Path) -> None:
    text = r"printf 'a\000\377\n'; printf 'bringup-facts 1 00000000-0000-0000-0000-000000000000\n'; printf 'no newline'"
    answer = run(script(Asked(state_dir=str(tmp_path))), tool(tmp_path / "tools", "uv", text))
    item = unframe(answer).item("software.uv")
    assert not isinstance(item, Unknown)
    assert item.out == b"a\0\xff\nbringup-facts 1 00000000-0000-0000-0000-000000000000\nno newline"


def test_a_tool_that_prints_without_end_is_cut(run: Run, tmp_path: Path) -> None:
    tools = tool(tmp_path / "tools", "uv", "exec yes 0123456789012345678901234567890123456789")
    host = facts(run(script(Asked(state_dir=str(tmp_path))), tools))
    assert not isinstance(host.software, Unknown)
    assert host.software.uv is None
    assert not isinstance(host.cpu, Unknown)


def test_a_refusal_is_not_an_empty_answer(run: Run, tmp_path: Path) -> None:
    tools = tool(tmp_path / "tools", "ss", "echo 'Cannot open netlink socket: Permission denied' >&2; exit 1")
    tool(
        tools,
        "grep",
        'case $* in *proc/net/tcp*) echo "grep: Permission denied" >&2; exit 2;; esac; exec /bin/grep "$@"',
    )
    host = facts(run(script(Asked(state_dir=str(tmp_path))), tools))
    assert isinstance(host.listeners, Unknown)
    assert host.listeners.why is Why.REFUSED


def test_a_simulated_host_is_read_from_its_own_tree(run: Run, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for path, text in {
        "sys/devices/system/cpu/online": "0-3\n",
        **{f"sys/devices/system/cpu/cpu{n}/topology/physical_package_id": "0\n" for n in range(4)},
        **{f"sys/devices/system/cpu/cpu{n}/topology/core_id": f"{n}\n" for n in range(4)},
        "sys/devices/system/node/node0/cpulist": "0-3\n",
        "sys/devices/system/node/node2/cpulist": "\n",
        "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:  1000 kB\n",
        "sys/devices/system/node/node2/meminfo": "Node 2 MemTotal:  400 kB\n",
        "sys/bus/pci/devices/0008:01:00.0/class": "0x030200\n",
        "sys/bus/pci/devices/0008:01:00.0/vendor": "0x10de\n",
        "sys/bus/pci/devices/0008:01:00.0/device": "0x2941\n",
        "sys/bus/pci/devices/0008:01:00.0/numa_node": "0\n",
        "proc/meminfo": "MemTotal: 1400 kB\nMemFree: 1000 kB\nMemAvailable: 1000 kB\n",
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Simulated\n",
    }.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    settings = tmp_path / "lab"
    settings.write_text(f"simulated=true\nsysroot={tree}\nallowed=0-2\narch=aarch64\n")
    text = script(Asked(state_dir=str(tmp_path))).replace("/etc/bringup-lab", str(settings))
    host = facts(run(text, tool(tmp_path / "tools", "nvidia-smi", "exit 127")))
    assert host.simulated
    assert not isinstance(host.cpu, Unknown)
    assert (host.cpu.physical_cores, host.cpu.physical_cores_machine, host.cpu.model) == (3, 4, "Simulated")
    assert not isinstance(host.memory, Unknown)
    assert host.memory.total_bytes == 1000 * 1024
    assert isinstance(host.gpus, Unknown)
    assert host.gpus.detail.startswith("1 NVIDIA GPUs on the PCI bus")


@pytest.mark.parametrize(
    ("mount", "file"),
    [
        ("cgroup2 /cg cgroup2 rw 0 0", "cg/job/cpuset.cpus.effective"),
        ("none /cg/cpuset cgroup rw,cpuset 0 0", "cg/cpuset/job/cpuset.cpus"),
        ("none /dev/cpuset cgroup rw,relatime,cpuset,noprefix 0 0", "dev/cpuset/job/cpus"),
    ],
)
def test_a_cpuset_of_any_version_narrows_the_cpus(run: Run, tmp_path: Path, mount: str, file: str) -> None:
    """The job's own step has no file: the nearest group above it counts."""
    tree = tmp_path / "tree"
    for path, text in {
        "sys/devices/system/cpu/online": "0-7\n",
        "proc/self/cpuset": "/job/step\n",
        "proc/mounts": f"proc /proc proc rw 0 0\n{mount}\n",
        file: "2-5\n",
    }.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    settings = tmp_path / "lab"
    settings.write_text(f"sysroot={tree}\n")
    text = script(Asked(state_dir=str(tmp_path))).replace("/etc/bringup-lab", str(settings))
    host = facts(run(text))
    assert not isinstance(host.cpu, Unknown)
    assert host.cpu.allowed == (2, 3, 4, 5)


def test_over_a_transport(tmp_path: Path) -> None:
    transport = LocalTransport("here")
    try:
        host = gather(transport, Asked(state_dir=str(tmp_path)))
    finally:
        transport.close()
    assert host.host == "here"
    assert not isinstance(host.system, Unknown)
    assert abs(host.system.clock_offset_s) < 1


def test_without_a_place_for_files_it_says_so(tmp_path: Path) -> None:
    text = script(Asked(state_dir=str(tmp_path)))
    tools = tool(tmp_path / "tools", "mktemp", "exit 1")
    done = subprocess.run(
        ["/bin/sh", "-c", text],
        env={"PATH": f"{tools}:{os.environ['PATH']}"},
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 74
    assert done.stderr.startswith(b"no folder takes a temporary file")
    assert unframe(done.stdout).fault == "no answer of the script: nothing came"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"state_dir": "var"}, "not an absolute path"),
        ({"paths": ("/a\nb",)}, "not an absolute path"),
        ({"paths": ("",)}, "not an absolute path"),
        ({"addresses": ("10.0.0.1; reboot",)}, "not an address"),
        ({"addresses": ("-o",)}, "not an address"),
        ({"seconds": 0}, "deadline"),
    ],
)
def test_what_cannot_be_asked(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Asked(**wrong)  # type: ignore[arg-type]


def test_paths_are_asked_once_and_quoted() -> None:
    asked = Asked(state_dir="/srv/it's", paths=("/tmp", "/data $(x)"))
    assert asked.all_paths == ("/srv/it's", "/tmp", "/data $(x)", "/dev/shm")
    assert "\"$1\" '/data $(x)'" in script(asked)


def test_deadlines_are_whole_seconds() -> None:
    assert deadline(Asked(seconds=1), 0.5) == 1
    assert all(deadline(Asked(seconds=20), share) in {10, 20} for _, share in SECTIONS)
