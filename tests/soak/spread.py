"""A folder is spread while hosts, links, processes and disks fail: `python -m tests.soak.spread --rounds 100`.

Each round spreads a few small files between lab hosts and lets one to three things happen to it. It must end on every
host with a verified folder or with a reason that has a name, in time; and no folder with a manifest may hold a wrong
byte. The same `--seed` makes the same rounds, except for what the scheduler of this machine does with them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from inventory.fleet import Fleet
from inventory.lab import faults, lifecycle
from inventory.lab.state import Lab
from inventory.load import load
from launch.spread.outcome import REASONS
from launch.spread.parcel import MANIFEST, Parcel
from launch.spread.spread import Delivery, Settings, spread
from tests.soak.folders import folder_of, root_of, wrong_files

FOLDER = "/srv/soak"
HOSTS = 5
LIMIT_S = 150.0
SETTINGS = Settings(lanes=2, patience_s=20.0, idle_s=30.0, rate_limit=12_000_000)
NAMED = {*REASONS, "spread-unreachable"}


@dataclass(slots=True)
class Round:
    """One spread. `done` says what happened to it, in order."""

    lab: Lab
    parcel: Parcel
    sources: tuple[str, ...]
    chance: random.Random
    done: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.lab.hosts)

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.sources)

    def place(self, host: str) -> Path:
        return root_of(self.lab, host) / FOLDER.lstrip("/")

    def run_of(self, host: str) -> Path:
        return root_of(self.lab, host) / "var/lib/bringup/spread" / self.parcel.digest[:16]

    def delivery(self) -> Delivery:
        addresses = {host.name: host.fabric for host in self.lab.hosts}
        return Delivery(self.parcel, dict.fromkeys(self.names, FOLDER), addresses, self.sources, self.targets, SETTINGS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    said = soak(asked.rounds, asked.seed, lambda line: print(line, flush=True))  # noqa: T201
    print(json.dumps(said))  # noqa: T201
    sys.exit(1 if said.get("wrong") else 0)


def soak(rounds: int, seed: int, told: Callable[[str], None]) -> Counter[str]:
    """Run `rounds`; how many hosts ended how, and under `wrong` what must not be."""
    counted: Counter[str] = Counter()
    with lab_of(HOSTS) as lab:
        for number in range(rounds):
            counted.update(one_round(lab, seed * 100_000 + number, told))
    return counted


@contextmanager
def lab_of(hosts: int) -> Iterator[Lab]:
    name = f"soak-{os.getpid()}"
    lab = lifecycle.up(hosts, "cpu", name=name)
    try:
        yield lab
    finally:
        lifecycle.down(name)


def one_round(lab: Lab, seed: int, told: Callable[[str], None]) -> Counter[str]:
    chance = random.Random(seed)  # noqa: S311  (which fault comes when)
    names = [host.name for host in lab.hosts]
    sources = tuple(names[: chance.choice((1, 1, 2))])
    for name in names:
        shutil.rmtree(root_of(lab, name) / FOLDER.lstrip("/"), ignore_errors=True)
    first = root_of(lab, sources[0]) / FOLDER.lstrip("/")
    parcel = folder_of(first, {f"part-{at}.bin": chance.randrange(0, 9 << 20) for at in range(6)}, chance)
    for other in sources[1:]:
        shutil.copytree(first, root_of(lab, other) / FOLDER.lstrip("/"))
    one = Round(lab, parcel, sources, chance)
    for fault in chance.sample(BEFORE, chance.randrange(0, 2)):
        fault(one)
    began = time.monotonic()
    outcomes = _spread_beside_faults(one, began)
    counted = _judged(one, outcomes, time.monotonic() - began)
    told(f"{seed} {time.monotonic() - began:5.1f} s  {'; '.join(one.done) or 'nothing'}: {dict(counted)}")
    return counted


def _spread_beside_faults(one: Round, began: float) -> Mapping[str, str]:
    """The spread in a process of its own, again when it was killed; faults from this one."""
    wanted = [one.chance.choice(DURING) for _ in range(one.chance.randrange(0, 3))]
    report = Path("/tmp") / f"soak-{os.getpid()}.json"
    child = _start(one, report)
    for fault in wanted:
        time.sleep(one.chance.uniform(0.2, 2.5))
        if fault is kill_control:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            one.done.append("control killed")
            time.sleep(one.chance.uniform(0.0, 2.0))
            child = _start(one, report)
        else:
            fault(one)
    while time.monotonic() - began < LIMIT_S:
        pid, _ = os.waitpid(child, os.WNOHANG)
        if pid:
            return dict(json.loads(report.read_text())) if report.exists() else {"control": "no report"}
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return {"control": f"no end after {LIMIT_S:g} s"}


def _start(one: Round, report: Path) -> int:
    report.unlink(missing_ok=True)
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        with Fleet(list(load(one.lab.inventory).hosts.values())) as fleet:
            outcomes = spread(fleet, one.delivery())
        ended = {host: each.error.id if each.error else "verified" for host, each in outcomes.items()}
        why = {f"  {each.error.id}: {each.error.observed}\n" for each in outcomes.values() if each.error}
        sys.stderr.write("".join(sorted(why)))
        report.write_text(json.dumps(ended))
        status = 0
    finally:
        os._exit(status)


def _judged(one: Round, outcomes: Mapping[str, str], seconds: float) -> Counter[str]:
    counted = Counter(outcomes.values())
    faulty = [f"{host}: {how}" for host, how in outcomes.items() if how != "verified" and how not in NAMED]
    if seconds > LIMIT_S:
        faulty.append(f"took {seconds:.0f} s")
    for host in one.names:
        place = one.place(host)
        sealed = (place / MANIFEST).exists()
        if outcomes.get(host) == "verified" and not sealed:
            faulty.append(f"{host}: verified and no manifest")
        if sealed:
            faulty += [f"{host}: {path} is wrong below a manifest" for path in wrong_files(place, one.parcel)]
    for each in faulty:
        one.done.append(f"WRONG {each}")
    counted["wrong"] += len(faulty)
    counted["rounds"] += 1
    return counted


def _any(one: Round, hosts: tuple[str, ...] | None = None) -> str:
    return one.chance.choice(hosts or one.names)


def kill_control(one: Round) -> None:
    """Done by whoever started it."""


def kill_peer(one: Round) -> None:
    host = _any(one)
    with suppress(OSError, ValueError, IndexError):
        inside = (one.run_of(host) / "process").read_text().split()[0]
        os.kill(_outside(one.lab, host, inside), signal.SIGKILL)
        one.done.append(f"process on {host} killed")


def _outside(lab: Lab, host: str, inside: str) -> int:
    """The process that the host calls `inside`, as this machine counts."""
    namespace = (root_of(lab, host).parent / "ns/pid").readlink()
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            told = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            if told["NSpid"].split()[-1] == inside and (status.parent / "ns/pid").readlink() == namespace:
                return int(status.parent.name)
    raise OSError(f"no process {inside} on {host}")


def link_down_and_up(one: Round) -> None:
    host, seconds = _any(one), one.chance.uniform(0.2, 6.0)
    faults.cut(host, only="fabric", lab=one.lab.name)
    time.sleep(seconds)
    faults.heal(host, only="fabric", lab=one.lab.name)
    one.done.append(f"link of {host} down for {seconds:.1f} s")


def both_links_down_and_up(one: Round) -> None:
    host = _any(one)
    faults.cut(host, lab=one.lab.name)
    time.sleep(one.chance.uniform(0.2, 6.0))
    faults.heal(host, lab=one.lab.name)
    one.done.append(f"{host} cut off for a while")


def restart_host(one: Round) -> None:
    host = _any(one, one.targets)
    faults.power_off(host, lab=one.lab.name)
    time.sleep(one.chance.uniform(0.0, 2.0))
    faults.power_on(host, lab=one.lab.name)
    one.done.append(f"{host} restarted")


def spoil_piece(one: Round) -> None:
    """Other bytes in the middle of a file, by somebody else; not below a manifest, where nobody would look again."""
    host = _any(one, one.targets)
    files = [path for path in one.place(host).glob("*.bin") if path.stat().st_size]
    if files and not (one.place(host) / MANIFEST).exists():
        path = one.chance.choice(files)
        _overwrite(path, one.chance)
        if (one.place(host) / MANIFEST).exists():
            path.unlink()  # too late: this is what must not be done below a manifest, and is seen as such
            (one.place(host) / MANIFEST).unlink()
        one.done.append(f"{path.name} spoiled on {host}")


def _overwrite(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        file.seek(chance.randrange(max(1, path.stat().st_size - 16)))
        file.write(chance.randbytes(16))


def spoiled_source(one: Round) -> None:
    host = _any(one, one.sources)
    files = [path for path in one.place(host).glob("*.bin") if path.stat().st_size > 16]
    if files:
        _overwrite(path := one.chance.choice(files), one.chance)
        one.done.append(f"{path.name} of source {host} is bad")


def spoiled_target(one: Round) -> None:
    """What lies there from before: cut short, with other bytes, or a pointer in the place of a file."""
    host = _any(one, one.targets)
    shutil.copytree(one.place(one.sources[0]), one.place(host))
    for path in one.place(host).glob("*.bin"):
        kind = one.chance.randrange(4)
        if kind == 0:
            os.truncate(path, path.stat().st_size // 2)
        elif kind == 1 and path.stat().st_size > 16:
            _overwrite(path, one.chance)
        elif kind == 2:
            path.write_text("version https://git-lfs.github.com/spec/v1\n")
    one.done.append(f"{host} has half of it, partly spoiled")


BEFORE: tuple[Callable[[Round], None], ...] = (spoiled_source, spoiled_target, spoiled_target)
DURING: tuple[Callable[[Round], None], ...] = (
    kill_control,
    kill_control,
    kill_peer,
    kill_peer,
    kill_peer,
    link_down_and_up,
    link_down_and_up,
    both_links_down_and_up,
    restart_host,
    spoil_piece,
    spoil_piece,
)


if __name__ == "__main__":
    main()
