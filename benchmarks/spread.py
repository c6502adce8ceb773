"""A folder to N lab hosts, every link capped: `launch.spread` beside what operators use, in turn, in one run.

    sudo .venv/bin/python -m benchmarks.spread --hosts 2,4,8 --files 40 --mib 50 --mbit 1000 --peers /path/to/a/venv

Each host, the source too, has one link of `--mbit` in each direction (`tc tbf`). Measured beside it, from this
machine by a leg of the same rate: rsync to all hosts at once, scp to one after another, Ansible's copy module (from
`--peers`). A time is that to the last host; `bringup` has then read every byte on every host and compared its sum, the
others have not. Afterwards every file of every host is read from outside and compared. Disks are tmpfs: (N + 1) folders
must fit into memory. All hosts share this machine's processors, which no real hosts do: look at the load that is told.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.measure import run
from inventory.fleet import Fleet
from inventory.lab import lifecycle, network
from inventory.lab.lifecycle import Equipment
from inventory.lab.process import run as command
from inventory.lab.state import Lab
from inventory.load import load
from inventory.quoting import quote
from launch.spread.parcel import Parcel, parcel_of
from launch.spread.spread import Delivery, Settings, spread

FOLDER = "/srv/model"
PRODUCT = "bringup"
ROUND_S = 1800


@dataclass(frozen=True, slots=True)
class Bench:
    """A lab whose first host has the folder; `mbit`: of every link, in each direction."""

    lab: Lab
    parcel: Parcel
    mbit: int
    folder: Path
    peers: Path
    lanes: int
    rates: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.lab.hosts)

    @property
    def targets(self) -> tuple[str, ...]:
        return self.names[1:]

    @property
    def floor_s(self) -> float:
        """What one copy over one link takes at the least."""
        return self.parcel.size * 8 / (self.mbit * 1e6)

    def place(self, host: str) -> Path:
        """The folder of `host`, as this machine sees it."""
        return root_of(self.lab, host) / FOLDER.lstrip("/")

    def clear(self) -> None:
        for host in self.targets:
            shutil.rmtree(self.place(host), ignore_errors=True)

    def wrong(self) -> list[str]:
        """Files that are not on a target as they are in the manifest; read from outside."""
        wanted = [(host, one) for host in self.targets for one in self.parcel.files]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            sums = pool.map(lambda each: _sum(self.place(each[0]) / each[1].path), wanted)
            return [f"{host}:{one.path}" for (host, one), got in zip(wanted, sums, strict=True) if got != one.sha256]

    def ours(self) -> None:
        addresses = {host.name: host.fabric for host in self.lab.hosts}
        folders = dict.fromkeys(self.names, FOLDER)
        settings = Settings(lanes=self.lanes)
        delivery = Delivery(self.parcel, folders, addresses, self.names[:1], self.targets, settings)
        with Fleet(list(load(self.lab.inventory).hosts.values())) as fleet:
            outcomes = spread(fleet, delivery)
        failed = [str(one.error) for one in outcomes.values() if not one.verified]
        if failed:
            raise RuntimeError("\n".join(failed))
        for host in self.targets:
            rate = self.parcel.size * 8 / 1e6 / outcomes[host].seconds
            self.rates[host] = f"{host} {outcomes[host].seconds:.1f} s, {rate:.0f} Mbit/s"
        sent = sum(outcomes[self.names[0]].sent.values())
        cpu = sum(one.cpu_s for one in outcomes.values())
        self.rates["all"] = f"the source sent {sent / self.parcel.size:.2f} copies; cpu of all {cpu:.1f} s"

    def shell(self, name: str, text: str) -> None:
        run(["/bin/sh", "-ec", text], env={}, said=self.folder / f"{name}.out", timeout_s=ROUND_S)

    def tools(self) -> Iterator[tuple[str, Callable[[], None]]]:
        ssh = f"ssh -F {quote(self.lab.ssh_config)}"
        source = quote(self.place(self.names[0]))
        yield PRODUCT, self.ours
        if shutil.which("rsync"):
            each = [
                f'rsync -a --whole-file -e {quote(ssh)} {source} {host}:/srv/ & all="$all $!"' for host in self.targets
            ]
            whole = "\n".join(["all=", *each, "for one in $all; do wait $one; done"])
            yield "rsync, all at once", lambda: self.shell("rsync", whole)
        copies = "\n".join(f"scp -q -F {quote(self.lab.ssh_config)} -r {source} {host}:/srv/" for host in self.targets)
        yield "scp, one after another", lambda: self.shell("scp", copies)
        playbook = self.peers / "bin" / "ansible-playbook"
        if playbook.exists():
            yield "ansible copy, forks = N", lambda: self._ansible(playbook)

    def _ansible(self, program: Path) -> None:
        hosts = self.folder / "hosts.ini"
        hosts.write_text("".join(f"{name} ansible_python_interpreter=/usr/bin/python3\n" for name in self.targets))
        copied = {
            "name": "copy",
            "ansible.builtin.copy": {"src": f"{self.place(self.names[0])}/", "dest": f"{FOLDER}/"},
        }
        play = self.folder / "play.yml"
        play.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [copied]}]))
        env = {
            "ANSIBLE_SSH_ARGS": f"-F {self.lab.ssh_config}",
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_HOME": str(self.folder),
            "ANSIBLE_LOCAL_TEMP": str(self.folder),
        }
        argv = [str(program), "-i", str(hosts), "-f", str(len(self.targets)), str(play)]
        run(argv, env=env, said=self.folder / "ansible.out", timeout_s=ROUND_S)


def _sum(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


@contextmanager
def bench(hosts: int, asked: argparse.Namespace) -> Iterator[Bench]:
    size = asked.files * asked.mib << 20
    needed, there = int((hosts + 1) * size * 1.06), psutil.virtual_memory().available
    if needed > there:
        sys.exit(f"{hosts} hosts need {needed / 1e9:.1f} GB of memory for their disks, {there / 1e9:.1f} GB are there")
    name = f"spread-{os.getpid()}"
    lab = lifecycle.up(hosts + 1, "cpu", name=name, equipment=Equipment(disk=f"{(size >> 20) + 256}M"))
    try:
        cap(lab, asked.mbit)
        parcel = filled(root_of(lab, lab.hosts[0].name) / FOLDER.lstrip("/"), asked.files, asked.mib << 20)
        with tempfile.TemporaryDirectory(prefix="bringup-bench-") as folder:
            yield Bench(lab, parcel, asked.mbit, Path(folder), asked.peers, asked.lanes)
    finally:
        lifecycle.down(name)


def root_of(lab: Lab, host: str) -> Path:
    """The root of a host's files."""
    return Path("/proc", (lab.of(host) / "pid").read_text().split()[0], "root")


def cap(lab: Lab, mbit: int) -> None:
    """Both directions of every cable, and what this machine sends into the lab."""
    switch = ["nsenter", f"--net={lab.switch}"]
    for host in lab.hosts:
        for kind in network.NETWORKS:
            _tbf(switch, network.cable(host, kind), mbit)
            _tbf(["nsenter", f"--net={root_of(lab, host.name).parent}/ns/net"], network.INTERFACES[kind], mbit)
    _tbf([], lab.leg, mbit)
    _tbf(switch, "leg", mbit)


def _tbf(inside: list[str], interface: str, mbit: int) -> None:
    shape = ["tbf", "rate", f"{mbit}mbit", "burst", "256kb", "latency", "50ms"]
    command([*inside, "tc", "qdisc", "replace", "dev", interface, "root", *shape])


def filled(folder: Path, files: int, size: int) -> Parcel:
    """Files of bytes that no compression makes smaller, and their manifest, which is not in the folder."""
    folder.mkdir(parents=True)
    listed = []
    for number in range(1, files + 1):
        path, whole, left = folder / f"model-{number:05}-of-{files:05}.safetensors", hashlib.sha256(), size
        with path.open("wb") as out:
            while left:
                part = os.urandom(min(left, 16 << 20))
                out.write(part)
                whole.update(part)
                left -= len(part)
        listed.append({"path": path.name, "size": size, "sha256": whole.hexdigest()})
    return parcel_of(json.dumps({"format_version": 1, "files": listed}))


def busy_s() -> float:
    """CPU seconds that this machine has been busy."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq)


def measured(one: Bench, tools: Mapping[str, Callable[[], None]], rounds: int) -> Iterator[str]:
    """A line for each tool and round, as it ends."""
    names = list(tools)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            one.clear()
            load1, cpu, began = os.getloadavg()[0], busy_s(), time.monotonic()
            tools[name]()
            seconds, spent = time.monotonic() - began, busy_s() - cpu
            if wrong := one.wrong():
                raise RuntimeError(f"{name}: {len(wrong)} files are wrong, {wrong[0]} first")
            yield (
                f"{name:26} {seconds:7.1f} s {seconds / one.floor_s:6.2f} x one copy   machine's cpu {spent:6.1f} s"
                f"   load before {load1:.1f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="2,4,8")
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--mib", type=int, default=50, help="of each file")
    parser.add_argument("--mbit", type=int, default=1000, help="of each link")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=4)
    parser.add_argument("--peers", type=Path, default=Path(sys.prefix))
    parser.add_argument("--only", default="", help="tools whose name begins so, separated by commas")
    asked = parser.parse_args()
    only = tuple(filter(None, asked.only.split(",")))
    for hosts in map(int, asked.hosts.split(",")):
        with bench(hosts, asked) as one:
            whole = f"{len(one.parcel.files)} files, {one.parcel.size / 2**20:.0f} MiB"
            head = (
                f"\n{hosts} hosts, {whole}, links of {one.mbit} Mbit/s: one copy takes {one.floor_s:.1f} s at the least"
            )
            sys.stdout.write(f"{head}; {os.cpu_count()} CPUs\n")
            tools = {name: tool for name, tool in one.tools() if not only or name.startswith(only)}
            for line in measured(one, tools, asked.rounds):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
            sys.stdout.write("".join(f"  {said}\n" for said in one.rates.values()))


if __name__ == "__main__":
    main()
