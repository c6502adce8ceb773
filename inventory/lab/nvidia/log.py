"""The long answers: `nvidia-smi -q` and `nvidia-smi -q -x`, both from log.fields."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from inventory.lab.nvidia.machine import HERE, MARK, UNTOLD, Machine, Process, read_fields


def entry(indent: int, label: str, value: object) -> str:
    return f"{' ' * indent + label:<55}: {value}\n"


def filled(value: str, values: dict[str, str]) -> str:
    """The long answers have no brackets around what is not told, and no unit behind it."""
    return value.format(**values).replace(f"{UNTOLD} MiB", "N/A")


def log_text(machine: Machine) -> str:
    said = ["\n==============NVSMI LOG==============\n\n"]
    said += [entry(0, "Timestamp", time.strftime("%a %b %e %H:%M:%S %Y"))]
    said += [entry(0, "Driver Version", machine.told["driver"]), entry(0, "CUDA Version", machine.told["cuda"])]
    said += ["\n", entry(0, "Attached GPUs", len(machine.told["gpus"]))]
    for gpu in machine.told["gpus"]:
        said.append(f"GPU {gpu['pci']}\n")
        values = machine.values(gpu)
        for label, _, value in read_fields(HERE / "log.fields"):
            if label:
                indent = 4 + len(label) - len(label.lstrip())
                said.append(entry(indent, label.strip(), filled(value, values)) if value else f"    {label}\n")
        said += _processes_text(machine.on(gpu))
        said += ["    Capabilities\n", entry(8, "EGM", "disabled"), "\n"]
    return "".join(said)


def _processes_text(processes: Sequence[Process]) -> Iterator[str]:
    yield "    Processes\n" if processes else entry(4, "Processes", "None")
    for process in processes:
        yield entry(8, "GPU instance ID", "N/A") + entry(8, "Compute instance ID", "N/A")
        yield entry(8, "Process ID", process.pid) + entry(12, "Type", "C")
        yield entry(12, "Name", process.name) + entry(12, "Used GPU Memory", f"{process.mib} MiB")


def log_xml(machine: Machine) -> str:
    said = ['<?xml version="1.0" ?>', '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">', f"<!-- {MARK} -->"]
    said += ["<nvidia_smi_log>", f"\t<timestamp>{time.strftime('%a %b %e %H:%M:%S %Y')}</timestamp>"]
    said += [f"\t<driver_version>{machine.told['driver']}</driver_version>"]
    said += [f"\t<cuda_version>{machine.told['cuda']}</cuda_version>"]
    said += [f"\t<attached_gpus>{len(machine.told['gpus'])}</attached_gpus>"]
    for gpu in machine.told["gpus"]:
        said.append(f'\t<gpu id="{gpu["pci"]}">')
        said += _elements(read_fields(HERE / "log.fields"), machine.values(gpu))
        said += _processes_xml(machine.on(gpu))
        said += ["\t\t<capabilities>", "\t\t\t<egm>disabled</egm>", "\t\t</capabilities>", "\t</gpu>"]
    return "".join(f"{line}\n" for line in (*said, "", "</nvidia_smi_log>"))


def _elements(fields: list[list[str]], values: dict[str, str]) -> Iterator[str]:
    """Nested elements from indented labels: an entry without a value holds those that follow deeper."""
    open_: list[tuple[int, str]] = []
    for label, tag, value in fields:
        depth = (len(label) - len(label.lstrip())) // 4
        while open_ and depth <= open_[-1][0]:
            yield f"{chr(9) * (2 + len(open_) - 1)}</{open_.pop()[1]}>"
        tabs = chr(9) * (2 + len(open_))
        if value:
            text = filled(value, values)
            text = text.removeprefix("0x") if tag.startswith("pci_") else text
            yield f"{tabs}<{tag}>{escape(text)}</{tag}>"
        else:
            yield f"{tabs}<{tag}>"
            open_.append((depth, tag))
    while open_:
        yield f"{chr(9) * (2 + len(open_) - 1)}</{open_.pop()[1]}>"


def _processes_xml(processes: Sequence[Process]) -> Iterator[str]:
    yield "\t\t<processes>"
    for process in processes:
        yield "\t\t\t<process_info>"
        yield "\t\t\t\t<gpu_instance_id>N/A</gpu_instance_id>"
        yield "\t\t\t\t<compute_instance_id>N/A</compute_instance_id>"
        yield f"\t\t\t\t<pid>{process.pid}</pid>"
        yield "\t\t\t\t<type>C</type>"
        yield f"\t\t\t\t<process_name>{escape(process.name)}</process_name>"
        yield f"\t\t\t\t<used_memory>{process.mib} MiB</used_memory>"
        yield "\t\t\t</process_info>"
    yield "\t\t</processes>"
