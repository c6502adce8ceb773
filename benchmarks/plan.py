"""`invoke plan` from a saved bundle, and the planning itself for many hosts.

    .venv/bin/python -m benchmarks.plan --rounds 5

The whole command is measured beside `invoke --list`, which starts the same interpreter and decides nothing: on a busy
machine only what is between the two means anything. Planning alone is in CPU seconds of this process.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import run
from launch.catalogue.find import Catalogue
from launch.choosing.outline import outline
from launch.plans.make import plan_of
from launch.request import Request
from tests.fleets import Fleet, host_facts, linked, one_gpu
from tests.unit.launch.gangs import hosts

ROOT = Path(__file__).resolve().parents[1]
INVOKE = str(Path(sys.executable).with_name("invoke"))
BUNDLE = ROOT / "tests" / "fixtures" / "hosts"
MODEL, KIND, GPUS = "deepseek-v4-pro", "NVIDIA GB200", 4
COMMANDS = {
    "invoke --list": ["--list"],
    "invoke plan --replay": ["plan", "--model", "gpt-oss-120b", "--replay", str(BUNDLE), "--hosts", "gb200-tray"],
    "invoke plan --hardware, 2 nodes": ["plan", "--model", MODEL, "--hardware", "gb200", "--nodes", "2"],
}
SIZES = (1, 2, 8, 64)


def fleet(count: int) -> Fleet:
    """`count` whole GB200 trays."""
    from inventory.facts.host import Gpus

    members = tuple(hosts(count))
    devices = tuple(one_gpu(at, KIND) for at in range(GPUS))
    gpus = Gpus("nvidia", "580.82", None, devices, simulated=False, links=linked("mesh", GPUS, "nvidia"))
    facts = {host.name: host_facts(at, members, gpus) for at, host in enumerate(members)}
    return Fleet(members, facts, KIND, (144,) * count)


def planning_cpu_s(count: int, rounds: int) -> float:
    """The least CPU seconds of one plan for `count` hosts, everything imported and every file read."""
    found, request, trays = Catalogue.of().find(MODEL), Request(MODEL), fleet(count)
    spent = []
    for _ in range(rounds + 1):
        began = time.process_time()
        plan_of(outline(found, request, trays.hosts, trays.facts), trays.facts)
        spent.append(time.process_time() - began)
    return min(spent[1:])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args(argv).rounds
    with tempfile.TemporaryDirectory() as folder:
        for name, words in COMMANDS.items():
            runs = [run([INVOKE, *words], env={}, said=Path(folder) / "out") for _ in range(rounds)]
            walls, cpus = [one.wall_s for one in runs], [one.cpu_s for one in runs]
            median = statistics.median(walls)
            print(f"{name:34} wall {min(walls):.2f} s (median {median:.2f}), cpu {min(cpus):.2f} s")  # noqa: T201
    for count in SIZES:
        print(f"planning for {count:3} hosts             cpu {planning_cpu_s(count, rounds):.3f} s")  # noqa: T201


if __name__ == "__main__":
    main()
