"""The answers for programs: `--query-gpu` and `--query-compute-apps` as CSV."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from inventory.lab.nvidia.machine import HERE, INVALID, Machine, Process, Refused, read_fields


@dataclass(frozen=True)
class Columns:
    """What is asked of a CSV, as `--format` says."""

    fields: tuple[str, ...]
    header: bool
    units: bool

    @classmethod
    def read(cls, fields: str, form: str | None) -> Columns:
        options = (form or "").split(",")
        if "csv" not in options or set(options) - {"csv", "noheader", "nounits"}:
            raise Refused(INVALID)
        asked = tuple(field.strip() for field in fields.split(","))
        return cls(asked, "noheader" not in options, "nounits" not in options)

    def csv(self, known: dict[str, tuple[str, str]], rows: list[dict[str, str]]) -> str:
        """`known`: heading and unit of each field that there is."""
        for field in self.fields:
            if field not in known:
                raise Refused(f'Field "{field}" is not a valid field to query.\n')
        lines = [[self._heading(*known[field]) for field in self.fields]] if self.header else []
        lines += [[self._cell(row[field], known[field][1]) for field in self.fields] for row in rows]
        return "".join(f"{', '.join(line)}\n" for line in lines)

    def _heading(self, heading: str, unit: str) -> str:
        return f"{heading} [{unit}]" if unit else heading

    def _cell(self, value: str, unit: str) -> str:
        return f"{value} {unit}" if self.units and unit and not value.startswith("[") else value


def query_gpu(machine: Machine, columns: Columns) -> str:
    fields = read_fields(HERE / "query-gpu.fields")
    now = time.strftime("%Y/%m/%d %H:%M:%S.000")
    rows = []
    for gpu in machine.told["gpus"]:
        values = {**machine.values(gpu), "timestamp": now}
        rows.append({name: value.format(**values) for name, _, value in fields})
    return columns.csv({name: (name, unit) for name, unit, _ in fields}, rows)


def query_apps(machine: Machine, columns: Columns) -> str:
    by_index = {gpu["index"]: gpu for gpu in machine.told["gpus"]}
    used = ("used_gpu_memory", "MiB")
    names = ("timestamp", "gpu_name", "gpu_bus_id", "gpu_serial", "gpu_uuid", "pid", "process_name", "name")
    known = {**{name: (name, "") for name in names}, "used_gpu_memory": used, "used_memory": used}
    rows = [_app(process, by_index[process.gpu]) for process in machine.processes if process.gpu in by_index]
    return columns.csv(known, rows)


def _app(process: Process, gpu: dict[str, Any]) -> dict[str, str]:
    mib = str(process.mib)
    return {
        "timestamp": time.strftime("%Y/%m/%d %H:%M:%S.000"),
        "gpu_name": gpu["name"], "gpu_bus_id": gpu["pci"], "gpu_serial": gpu["serial"], "gpu_uuid": gpu["uuid"],
        "pid": str(process.pid), "process_name": process.name, "name": process.name,
        "used_gpu_memory": mib, "used_memory": mib,
    }  # fmt: skip
