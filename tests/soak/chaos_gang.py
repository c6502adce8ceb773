"""A group of stand-in engines on lab hosts, written there as a deploy would write it, and looked at from outside.

What the product says is held against what this machine sees itself in the hosts' namespaces: processes and their
states, whether a host has power, whether it stands still. Nothing of the product is asked for that.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inventory.lab import boot
from inventory.lab.lifecycle import Equipment, up
from inventory.lab.state import Lab
from inventory.load import load
from inventory.schema import Inventory
from launch.building.command import HostCommand
from launch.building.generation import Generation, Member
from launch.building.unit import UnitSettings, command_file
from launch.standin.make_env import build
from tests.lab.conftest import on
from tests.lab.standin_gang import DENSE, MOE

STATE = "/var/lib/bringup"
VLLM, PYTHON = f"{STATE}/envs/standin/bin/vllm", f"{STATE}/envs/standin/bin/python"
HTTP, RPC = 8000, 13345
NAME = "chaos"
# Short phases, so that a round is short; the order and the waits for each other are vLLM's.
PHASES = "load=0.3,compile=0.1,capture=0.1,dead_linger=0.5,stop=0.1,stop_headless=0.2"


@dataclass(frozen=True, slots=True)
class Gang:
    """A lab with a deployment on it. `layout`: internal (a rank a host) or hybrid (two a host)."""

    lab: Lab
    inventory: Inventory
    record: Generation
    layout: str

    @property
    def hosts(self) -> tuple[str, ...]:
        return self.record.hosts

    def processes(self, host: str) -> dict[int, str]:
        """pid (of this machine) -> command line of the stand-in's living processes on one host."""
        lab_host = next(one for one in self.lab.hosts if one.name == host)
        running = boot.running(self.lab, [lab_host])
        return dict(_inside(running[0][1].number)) if running else {}

    def has_power(self, host: str) -> bool:
        return bool(boot.running(self.lab, [one for one in self.lab.hosts if one.name == host]))

    def everything_left(self) -> dict[str, dict[int, str]]:
        return {host: left for host in self.hosts if (left := self.processes(host))}

    def kill_one(self, host: str, pick: float) -> str:
        """Kill one process of a host, the one at the share `pick` of them; its command line, empty when none is."""
        seen = sorted(self.processes(host).items())
        if not seen:
            return ""
        pid, words = seen[int(pick * len(seen)) % len(seen)]
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return words


def _inside(first: int) -> Iterator[tuple[int, str]]:
    try:
        namespace = Path(f"/proc/{first}/ns/pid").readlink()
    except OSError:
        return
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "ns/pid").readlink() == namespace and _state(folder) != "Z":
                environment = (folder / "environ").read_bytes()
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                if b"BRINGUP_DEPLOYMENT=" in environment and not words.startswith("/bin/sh -s"):
                    yield int(folder.name), f"{(folder / 'comm').read_text().strip()}: {words[:60]}"


def _state(folder: Path) -> str:
    return (folder / "stat").read_text().rpartition(")")[2].split()[0]


def make(name: str, count: int, layout: str, folder: Path) -> Gang:
    """A lab of `count` hosts with the files of one generation on each; the lab is the caller's to take down."""
    environment = build(folder / "standin", "0.33.0")
    lab = up(count, "gb200", name=name, equipment=Equipment(copied_environments={"standin": environment}))
    record = _record(lab, layout)
    for host in record.hosts:
        _write(lab, record, host, layout)
    return Gang(lab, load(lab.inventory), record, layout)


def _record(lab: Lab, layout: str) -> Generation:
    ranks = 2 if layout == "hybrid" else 1
    members = tuple(
        Member(
            host.name,
            f"http://{host.fabric}:{HTTP}" if layout == "hybrid" or not at else "",
            at * ranks,
            ranks,
            PYTHON,
            "process-group",
        )
        for at, host in enumerate(lab.hosts)
    )
    return Generation(
        NAME, "g1", "lab/chaos", "default", layout, "0.33.0", NAME, layout, "Say hello.", 4, (HTTP, RPC), members
    )


def argv(lab: Lab, record: Generation, host: str, layout: str) -> tuple[str, ...]:
    """The command line of one host."""
    member, head = record.of(host), lab.hosts[0].fabric
    size = sum(one.ranks for one in record.members)
    words = [VLLM, "serve", "/srv/moe" if layout == "hybrid" else "/srv/dense", "--served-model-name", NAME]
    words += ["--data-parallel-size", str(size), "--data-parallel-size-local", str(member.ranks)]
    words += ["--data-parallel-address", head, "--data-parallel-rpc-port", str(RPC)]
    if layout == "hybrid":
        words += ["--data-parallel-hybrid-lb", "--data-parallel-start-rank", str(member.start_rank)]
        return (*words, "--host", "0.0.0.0", "--port", str(HTTP))  # noqa: S104  (a host of the lab)
    if member.url:
        return (*words, "--host", "0.0.0.0", "--port", str(HTTP), "--api-server-count", "1")  # noqa: S104
    return (*words, "--headless", "--data-parallel-start-rank", str(member.start_rank))


def _write(lab: Lab, record: Generation, host: str, layout: str) -> None:
    folder = f"{STATE}/deployments/{NAME}/{record.generation}"
    address = next(one.fabric for one in lab.hosts if one.name == host)
    env = {
        "PATH": "/usr/bin:/bin",
        "GLOO_SOCKET_IFNAME": "fab0",
        "VLLM_HOST_IP": address,
        "BRINGUP_STANDIN_PHASES": PHASES,
    }
    command = HostCommand(host, tuple(sorted(env.items())), argv(lab, record, host, layout))
    script = command_file(command, UnitSettings(NAME, record.generation, folder, "root"))
    models = "".join(
        f"mkdir -p /srv/{name} && echo x >/srv/{name}/1.safetensors\n"
        f"cat >/srv/{name}/config.json <<'END'\n{json.dumps(config)}\nEND\n"
        for name, config in (("dense", DENSE), ("moe", MOE))
    )
    done = on(
        lab,
        host,
        f"mkdir -p {folder}\n{models}"
        f"cat >{folder}/command.sh <<'END_OF_COMMAND'\n{script}END_OF_COMMAND\n"
        f"cat >{folder}/generation.json <<'END_OF_RECORD'\n{record.to_line(host)}END_OF_RECORD\n"
        f"chmod 755 {folder}/command.sh; ln -sfn {record.generation} {STATE}/deployments/{NAME}/current",
    )
    assert done.returncode == 0, done.stderr
