"""`invoke probe` on lab hosts beside the same script run by other tools, in turn, in one run.

    sudo .venv/bin/python -m benchmarks.probe --hosts 2,8,32 --rounds 5 --peers /path/to/a/venv

Plain OpenSSH (one client a host, all at once, with and without open master connections) is always measured; pdsh where
it is on PATH; parallel-ssh, asyncssh, Ansible's setup and pyinfra's facts where the virtual environment `--peers` has
them. Hosts are namespaces of this machine, so that what runs on them takes the same processors: compare CPU first, the
least wall second, and the median last. Ratios are to the fastest plain tool that logs in, as `invoke probe` does.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Run, in_turn, run, table
from inventory.facts.gather import Asked, script
from inventory.lab import lifecycle
from inventory.lab.state import Lab
from inventory.quoting import quote

ROOT = Path(__file__).resolve().parents[1]
CLIENT = Path(__file__).with_name("peer.py")
PRODUCT = "bringup: invoke probe"
WARM = "ssh, masters open"
MEANING = """\
wall: the hosts are namespaces of this machine, so the scripts they run share its processors with the tools: the more of
  them, the closer all tools come to each other. On real hosts what remains is the login, the slowest host, and cpu.
cpu: of the control side alone, user and system, of every process that the tool started.
MiB: of all these processes together, at their highest.
"""
NOT_PLAIN = ("bringup", "ansible", "pyinfra", WARM)


@dataclass(frozen=True, slots=True)
class Bench:
    """One lab and a folder for what the tools write. `peers`: a virtual environment with other tools."""

    lab: Lab
    folder: Path
    peers: Path

    @property
    def config(self) -> Path:
        return self.lab.folder / "ssh_config"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.lab.hosts)

    def run(self, name: str, argv: Sequence[str], **env: str) -> Run:
        return run(argv, env=env, said=self.folder / f"{name}.out")

    def all_at_once(self, name: str, command: str) -> Run:
        """A shell that starts `command` for every host and waits for all; `{}` is the host."""
        each = "\n".join(f"{command.replace('{}', host)} >{quote(self.folder / host)} &" for host in self.names)
        return self.run(name, ["/bin/sh", "-c", f"{each}\nwait"])

    def tools(self) -> Iterator[tuple[str, Callable[[], Run]]]:
        text = quote(self.folder / "script.sh")
        ssh = f"ssh -F {quote(self.config)}"
        inventory = str(self.lab.inventory)
        product = [sys.executable, "-m", "invoke", "probe", "--json"]
        # Empty: the round that warms up leaves bytecode behind, as a first call does everywhere.
        ours = {"BRINGUP_INVENTORY": inventory, "PYTHONDONTWRITEBYTECODE": ""}
        yield PRODUCT, lambda: self.run("bringup", product, **ours)
        yield "ssh", lambda: self.all_at_once("ssh", f"{ssh} {{}} /bin/sh -s <{text}")
        master = f"-o ControlPath={quote(self.folder)}/master-%h"
        yield WARM, lambda: self.all_at_once("warm", f"{ssh} {master} {{}} /bin/sh -s <{text}")
        if pdsh := shutil.which("pdsh"):
            argv = [pdsh, "-R", "ssh", "-f", str(len(self.names)), "-w", ",".join(self.names)]
            whole = [*argv, (self.folder / "script.sh").read_text()]
            yield "pdsh", lambda: self.run("pdsh", whole, PDSH_SSH_ARGS_APPEND=f"-F {self.config}")
        yield from self._of_peers()

    def _of_peers(self) -> Iterator[tuple[str, Callable[[], Run]]]:
        python, programs = self.peers / "bin/python", self.peers / "bin"
        for kind in ("pssh", "asyncssh"):
            if _has(python, kind):
                argv = [str(python), str(CLIENT), kind, str(self.folder), str(self.lab.folder), *self._addresses()]
                yield kind, lambda argv=argv, kind=kind: self.run(kind, argv)  # type: ignore[misc]
        if (programs / "ansible").exists():
            argv = [
                str(programs / "ansible"),
                "all",
                "-i",
                self.ansible_inventory(),
                "-f",
                str(len(self.names)),
                "-m",
                "setup",
            ]
            env = {"ANSIBLE_SSH_ARGS": f"-F {self.config}", "ANSIBLE_PIPELINING": "1", "ANSIBLE_HOME": str(self.folder)}
            yield "ansible setup, pipelined", lambda: self.run("ansible", argv, **env)
        if (programs / "pyinfra").exists():
            facts = ("server.Kernel", "server.LinuxDistribution", "server.Mounts", "hardware.Cpus", "hardware.Memory")
            more = ("hardware.BlockDevices", "hardware.NetworkDevices")
            whole = [str(programs / "pyinfra"), "-y", self.pyinfra_inventory(), "fact", *facts, *more]
            yield "pyinfra, 7 facts", lambda: self.run("pyinfra", whole)

    def _addresses(self) -> list[str]:
        return [host.control for host in self.lab.hosts]

    def ansible_inventory(self) -> str:
        path = self.folder / "hosts.ini"
        path.write_text("".join(f"{name} ansible_python_interpreter=/usr/bin/python3\n" for name in self.names))
        return str(path)

    def pyinfra_inventory(self) -> str:
        path = self.folder / "hosts_pyinfra.py"
        said = {
            "ssh_user": "root",
            "ssh_key": str(self.lab.folder / "id_ed25519"),
            "ssh_known_hosts_file": str(self.lab.folder / "known_hosts"),
        }
        path.write_text(f"hosts = {[(address, said) for address in self._addresses()]!r}\n")
        return str(path)


def _has(python: Path, module: str) -> bool:
    argv = [str(python), "-c", f"import {module}"]
    return python.exists() and subprocess.run(argv, capture_output=True, check=False).returncode == 0


@contextmanager
def bench(hosts: int, peers: Path) -> Iterator[Bench]:
    """A lab of this machine's own hardware, with a master connection open to each host."""
    name = f"bench-{os.getpid()}"
    lab = lifecycle.up(hosts, "cpu", name=name)
    try:
        with tempfile.TemporaryDirectory(prefix="bringup-bench-") as folder:
            one = Bench(lab, Path(folder), peers)
            others = tuple(host.control for host in lab.hosts[1:])
            (one.folder / "script.sh").write_text(script(Asked(addresses=others)))
            _masters(one, "-fN", "-o", "ControlMaster=yes")
            yield one
            _masters(one, "-O", "exit")
    finally:
        lifecycle.down(name)


def _masters(one: Bench, *words: str) -> None:
    for host in one.names:
        argv = ["ssh", "-F", str(one.config), "-o", f"ControlPath={one.folder}/master-%h", *words, host]
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def goals(found: Mapping[str, Sequence[Run]], base: str, hosts: int) -> str:
    """What was to be reached, by the least wall of each tool: other work on the machine only adds to it."""
    least = {name: min(one.wall_s for one in runs) for name, runs in found.items()}
    cpu = min(one.cpu_s for one in found[PRODUCT])
    told = [f"{least[PRODUCT] / least[base]:.2f} of the wall of {base} (goal at 8 hosts: at most 1.3)"]
    if ansible := next((name for name in found if name.startswith("ansible")), None):
        told.append(f"{least[ansible] / least[PRODUCT]:.1f} times as fast as {ansible} (goal at 8 hosts: 5)")
    told.append(f"a host: wall {least[PRODUCT] / hosts:.3f} s, cpu {cpu / hosts:.3f} s (goal: at 32 no more than at 8)")
    return "\n".join(f"{PRODUCT}: {one}" for one in told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="2,8")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", type=Path, default=Path(sys.prefix))
    parser.add_argument("--only", default="", help="tools whose name begins so, separated by commas")
    asked = parser.parse_args()
    os.chdir(ROOT)
    for hosts in map(int, asked.hosts.split(",")):
        with bench(hosts, asked.peers) as one:
            wanted = tuple(filter(None, asked.only.split(",")))
            tools = {name: tool for name, tool in one.tools() if not wanted or name.startswith(wanted)}
            found = in_turn(tools, asked.rounds)
            document = json.loads((one.folder / "bringup.out").read_text())
        answered = len(document["data"]["hosts"])
        plain = [name for name in found if not name.startswith(NOT_PLAIN)]
        base = min(plain, key=lambda name: sorted(one.wall_s for one in found[name])[len(found[name]) // 2])
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        said = f"{hosts} hosts, {asked.rounds} rounds, {os.cpu_count()} CPUs, load {load}; bringup read {answered}"
        sys.stdout.write(f"\n{said}\nratios to {base}\n{table(found, base)}\n{goals(found, base, hosts)}\n")
    sys.stdout.write(f"\n{MEANING}")


if __name__ == "__main__":
    main()
