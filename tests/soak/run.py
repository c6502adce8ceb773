"""`install` of files, commands and a Python environment, as one command of its own: what the soak breaks in the middle.

    python -m tests.soak.run INVENTORY BOOK WHEELS

It is the product's own look, plan, lock, apply and read-back; only the environment is a small one, of the wheels in a
folder of this machine, which the hosts are given.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from inventory.errors import BringupError, raise_all
from inventory.fleet import Fleet
from inventory.load import load
from launch.console.report import Report
from launch.install import Prepared, Wish, carry_out
from playbooks.cargo import Cargo, CargoFile
from playbooks.environments import EnvironmentDefinition
from playbooks.layout import Layout
from playbooks.look import read
from playbooks.plan import FORMAT_VERSION, Change, Plan, Step, changes_for
from playbooks.schema import Playbook, load_playbook
from playbooks.steps.python_env import Sources, Wheelhouse, python_env
from playbooks.steps.shipped import shipped
from playbooks.wanted import early_steps, settings_of
from tests.lab.trial_environment import trial_environment

STATE = "/var/lib/bringup"


def environment(wheels: Path) -> EnvironmentDefinition:
    """What the wheels of a folder are the lock of, those of uv aside."""
    lock = "".join(
        f"{name.replace('_', '-')}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for path in sorted(wheels.glob("*.whl"))
        for name, version, *_ in (path.name.split("-"),)
        if name != "uv"
    )
    return trial_environment(lock)


def steps_of(book: Playbook, wheels: Path, addresses: tuple[tuple[str, str], ...], minor: int) -> tuple[Step, ...]:
    wanted, layout = environment(wheels), Layout(STATE)
    files = tuple(
        CargoFile(path.name, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest(), str(path))
        for path in sorted(wheels.glob("*.whl"))
    )
    cargo = Cargo(layout.wheelhouse(wanted.digest), layout.incoming(wanted.digest), files, addresses)
    return (
        *early_steps((book,), settings_of((book,), {}), STATE),
        shipped(cargo, what="wheels", why="the hosts have no way out", alone=True),
        python_env(
            wanted,
            folder=layout.environment(wanted.digest),
            sources=Sources(),
            wheelhouse=Wheelhouse(cargo.folder, minor),
        ),
    )


def prepared(fleet: Fleet, book: Playbook, steps: tuple[Step, ...]) -> Prepared:
    outcomes = fleet.each(lambda transport: read(transport, steps))
    raise_all([one for one in outcomes.values() if isinstance(one, BringupError)])
    changes: list[Change] = []
    for host, states in outcomes.items():
        assert not isinstance(states, BringupError)
        changes += changes_for(host, steps, states)
    plan = Plan(FORMAT_VERSION, "soak", "", "soak", tuple(fleet.hosts), (), tuple(changes))
    return Prepared(Wish((book,)), plan, dict.fromkeys(fleet.hosts, steps), dict.fromkeys(fleet.hosts, ()))


def install(inventory: Path, book: Path, wheels: Path) -> int:
    report = Report()
    hosts = load(inventory).resolve("all")
    addresses = tuple((host.name, host.fabric_address) for host in hosts if host.fabric_address)
    with Fleet(hosts, brief=True) as fleet:
        # Lab hosts have this machine's own system Python.
        minor = int(_one(fleet, "python3 -c 'import sys; print(sys.version_info[1])'"))
        read_book = load_playbook(book)
        steps = steps_of(read_book, wheels, addresses, minor)
        first = prepared(fleet, read_book, steps)
        report.plan(first.plan)
        if not first.plan.empty:
            carry_out(first, fleet, report, lambda: prepared(fleet, read_book, steps))
    return 0


def _one(fleet: Fleet, script: str) -> str:
    outcomes = fleet.each(lambda transport: transport.run(script, timeout=20).text.strip())
    raise_all([one for one in outcomes.values() if isinstance(one, BringupError)])
    return str(next(iter(outcomes.values())))


def main() -> int:
    inventory, book, wheels = map(Path, sys.argv[1:4])
    try:
        return install(inventory, book, wheels)
    except BringupError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
