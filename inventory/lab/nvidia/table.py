"""The answers for people: the table, `-L`, `--version` and `topo -m`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from inventory.lab.nvidia.machine import Machine, Process


def listing(machine: Machine) -> str:
    return "".join(f"GPU {gpu['index']}: {gpu['name']} (UUID: {gpu['uuid']})\n" for gpu in machine.told["gpus"])


def versions(machine: Machine) -> str:
    driver = machine.told["driver"]
    lines = {
        "NVIDIA-SMI version": driver,
        "NVML version": driver.rpartition(".")[0],
        "DRIVER version": driver,
        "CUDA Version": machine.told["cuda"],
    }
    return "".join(f"{label:<20}: {value}\n" for label, value in lines.items())


RULE = f"+{'-' * 41}+{'-' * 24}+{'-' * 22}+"
WIDE = f"+{'-' * 89}+"


def table(machine: Machine) -> str:
    driver = machine.told["driver"]
    said = [f"{time.strftime('%a %b %e %H:%M:%S %Y')}       ", WIDE]
    said += [f"| NVIDIA-SMI {driver:<22} Driver Version: {driver:<14} CUDA Version: {machine.told['cuda']:<9}|", RULE]
    said += ["| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |"]
    said += ["| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |"]
    said += ["|                                         |                        |               MIG M. |"]
    said += [RULE.replace("-", "=").replace("+", "|", 1)[:-1] + "|"]
    for gpu in machine.told["gpus"]:
        said += [*_table_rows(gpu, machine.values(gpu)), RULE]
    said += ["", WIDE, f"| {'Processes:':<88}|"]
    said += ["|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |"]
    said += ["|        ID   ID                                                               Usage      |"]
    said += [f"|{'=' * 89}|", *_table_processes(machine.processes), WIDE]
    return "".join(f"{line}\n" for line in said)


def _table_rows(gpu: dict[str, Any], values: dict[str, str]) -> Iterator[str]:
    memory = "Not Supported" if gpu["unified"] else f"{values['used_mib']}MiB / {gpu['memory_mib']}MiB"
    yield f"|{gpu['index']:>4}  {gpu['name']:<31.27}On  |   {gpu['pci']} Off | {0:>20} |"
    power = f"{gpu['power_idle_w']}W / {gpu['power_limit_w']:>4}W"
    yield f"| N/A   28C    P0    {power:>20} | {memory:>22} | {'0%':>7} {'Default':>12} |"
    yield f"| {'':<39} | {'':<22} | {'Disabled':>20} |"


def _table_processes(processes: Sequence[Process]) -> Iterator[str]:
    if not processes:
        yield f"|{'  No running processes found':<89}|"
    for one in processes:
        yield f"|  {one.gpu:>3}   N/A  N/A  {one.pid:>14}      C   {one.name:<37.37} {one.mib:>7}MiB |"


def topology(machine: Machine) -> str:
    gpus, nics = machine.told["gpus"], machine.told["nics"]
    names = [f"GPU{gpu['index']}" for gpu in gpus] + [f"NIC{n}" for n in range(len(nics))]
    heads = [*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
    said = ["\t\x1b[4m" + "\t".join(heads) + "\x1b[0m"]
    for n, row in enumerate(machine.told["links"]):
        cells = [names[n], *(f" {link} " if link == "X" else link for link in row)]
        if n < len(gpus):
            cells += [gpus[n]["cpu_affinity"], gpus[n]["numa_affinity"], "", gpus[n]["gpu_numa_id"]]
        said.append("\t".join(cells))
    said += ["", "Legend:", "", *LEGEND]
    if nics:
        said += ["", "NIC Legend:", "", *(f"  NIC{n}: {name}" for n, name in enumerate(nics))]
    return "".join(f"{line}\n" for line in (*said, ""))


LEGEND = (
    "  X    = Self",
    "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)",
    "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node",
    "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)",
    "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)",
    "  PIX  = Connection traversing at most a single PCIe bridge",
    "  NV#  = Connection traversing a bonded set of # NVLinks",
)
