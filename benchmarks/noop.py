"""`invoke install` again on lab hosts that are as wanted: ten things, beside Ansible and pyinfra doing the same ten.

    sudo .venv/bin/python -m benchmarks.noop --hosts 2,8,32 --rounds 5 --peers /path/to/a/venv

The first round makes the ten things true, by whichever tool comes first; from then on nothing changes, which is checked
of bringup and of Ansible after each run. Also measured: one plain shell script that tests the ten over a new SSH
connection to each host, which is the floor. Hosts are namespaces of this machine and share its processors: compare CPU
of the control side first, the least wall second, the median last.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.measure import CommandFailed, Run, in_turn, table
from benchmarks.probe import MEANING, Bench, bench
from inventory.quoting import quote

ROOT = Path(__file__).resolve().parents[1]
THINGS = Path(__file__).with_name("ten_things")
PRODUCT = "bringup: invoke install"
FLOOR = "one script over ssh"
ANSIBLE = "ansible, pipelined, forks = N"
PYINFRA = "pyinfra"


def tools(one: Bench) -> Iterator[tuple[str, Callable[[], Run]]]:
    """Every tool that is there, by name."""
    words = ["install", "--hosts", ",".join(one.names), "--playbook", str(THINGS / "book.yaml")]
    ours = {"BRINGUP_INVENTORY": str(one.lab.inventory), "PYTHONDONTWRITEBYTECODE": ""}
    yield PRODUCT, lambda: one.run("bringup", [sys.executable, "-m", "invoke", *words], **ours)
    script = quote(THINGS / "floor.sh")
    yield FLOOR, lambda: one.all_at_once("floor", f"ssh -F {quote(one.config)} {{}} /bin/sh -s <{script}")
    programs = one.peers / "bin"
    if (programs / "ansible-playbook").exists():
        argv = [str(programs / "ansible-playbook"), "-i", one.ansible_inventory(), "-f", str(len(one.names))]
        env = {"ANSIBLE_SSH_ARGS": f"-F {one.config}", "ANSIBLE_PIPELINING": "1", "ANSIBLE_HOME": str(one.folder)}
        yield ANSIBLE, lambda: one.run("ansible", [*argv, str(THINGS / "play.yml")], **env)
    if (programs / "pyinfra").exists():
        argv_py = [str(programs / "pyinfra"), "-y", one.pyinfra_inventory(), str(THINGS / "deploy.py")]
        yield PYINFRA, lambda: one.run("pyinfra", argv_py)


def refuse_changes(one: Bench) -> None:
    """Raise where the last run of a tool changed something: it was then no run of the kind that is measured."""
    ours = (one.folder / "bringup.out").read_text(errors="replace")
    if "nothing to change" not in ours:
        raise CommandFailed(f"bringup changed something: {ours[-400:]}")
    play = one.folder / "ansible.out"
    said = play.read_text(errors="replace") if play.exists() else ""
    if said.count("changed=0") != said.count("changed="):
        raise CommandFailed(f"ansible changed something: {said[-400:]}")


def goals(found: Mapping[str, Sequence[Run]]) -> str:
    """The ratios that were to be reached, by the least wall and the least CPU of each tool."""
    wall = {name: min(one.wall_s for one in runs) for name, runs in found.items()}
    cpu = {name: min(one.cpu_s for one in runs) for name, runs in found.items()}
    aims = {ANSIBLE: 25, PYINFRA: 5}
    told = [
        f"{wall[name] / wall[PRODUCT]:.1f} times as fast as {name}, with {cpu[name] / cpu[PRODUCT]:.1f} times less cpu "
        f"(goal at 8 hosts: {aim})"
        for name, aim in aims.items()
        if name in found
    ]
    return "\n".join(f"{PRODUCT}: {one}" for one in told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="2,8")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", type=Path, default=Path(sys.prefix))
    parser.add_argument("--only", default="", help="tools whose name begins so, separated by commas; bringup always")
    asked = parser.parse_args()
    os.chdir(ROOT)
    only = ("bringup", *filter(None, asked.only.split(",")))
    for hosts in map(int, asked.hosts.split(",")):
        with bench(hosts, asked.peers) as one:
            chosen = {name: tool for name, tool in tools(one) if not asked.only or name.startswith(only)}
            found = in_turn(chosen, asked.rounds)
            refuse_changes(one)
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        said = f"{hosts} hosts, {asked.rounds} rounds, {os.cpu_count()} CPUs, load {load}"
        sys.stdout.write(f"\n{said}\nratios to {PRODUCT}\n{table(found, PRODUCT)}\n{goals(found)}\n")
    sys.stdout.write(f"\n{MEANING}")


if __name__ == "__main__":
    main()
