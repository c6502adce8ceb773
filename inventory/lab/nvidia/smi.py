"""Simulated nvidia-smi of a bringup lab host: the formats are NVIDIA's, the GPUs do not exist.

Runs in the host, with the standard library only; beside it lie `gpus.json` (what the lab's profile says) and the fields
of each format. A line `GPU PID MIB NAME` in `/run/bringup-lab/gpu-processes` puts a process on a GPU for as long as it
lives. Sources of the formats: captures of drivers 580 and 590; exit statuses: the tool's manual page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from inventory.lab.nvidia.log import log_text, log_xml
from inventory.lab.nvidia.machine import HERE, INVALID, MARK, Machine, Refused, read_machine
from inventory.lab.nvidia.query import Columns, query_apps, query_gpu
from inventory.lab.nvidia.table import listing, table, topology, versions

PROCESSES = Path("/run/bringup-lab/gpu-processes")
ANSWERS = {(): table, ("list",): listing, ("log",): log_text, ("log", "xml"): log_xml}
FLAGS = {"-L": "list", "--list-gpus": "list", "-q": "log", "--query": "log", "-x": "xml", "--xml-format": "xml"}
VALUED = ("--query-gpu", "--query-compute-apps", "--format", "--id", "-i")


def answer(arguments: Sequence[str], machine: Machine) -> str:
    """What the tool prints for a command line; `Refused` with what it says of a wrong one."""
    match list(arguments):
        case ["-h"] | ["--help"]:
            return f"NVIDIA System Management Interface -- v{machine.told['driver']} ({MARK})\n"
        case ["--version"]:
            return versions(machine)
        case ["topo", "-m"]:
            return topology(machine)
    flags, values = _parsed(list(arguments))
    machine = machine.only(values.pop("--id", values.pop("-i", None)))
    form = values.pop("--format", None)
    match flags, values:
        case [], {"--query-gpu": fields, **rest} if not rest:
            return query_gpu(machine, Columns.read(fields, form))
        case [], {"--query-compute-apps": fields, **rest} if not rest:
            return query_apps(machine, Columns.read(fields, form))
    found = ANSWERS.get(tuple(flags))
    if found is None or values or form:
        raise Refused(INVALID)
    return found(machine)


def _parsed(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    flags, values = set(), {}
    while arguments:
        name, equals, value = arguments.pop(0).partition("=")
        if name in FLAGS and not equals:
            flags.add(FLAGS[name])
        elif name in VALUED and (equals or arguments):
            values[name] = value if equals else arguments.pop(0)
        else:
            raise Refused(INVALID)
    return sorted(flags), values


def main(arguments: Sequence[str]) -> int:
    machine = read_machine(HERE, PROCESSES)
    if failure := machine.told["failure"]:
        sys.stdout.write(failure["message"] + "\n\n")
        return int(failure["exit_status"])
    try:
        sys.stdout.write(answer(arguments, machine))
    except Refused as refused:
        sys.stdout.write(f"{refused}\n")
        return refused.status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
