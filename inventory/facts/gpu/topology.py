"""The matrix of `nvidia-smi topo -m`: affinity of each GPU, its distance to every GPU and NIC.

Its own output is split at tabs, because a cell can be empty. What people paste has blanks instead, a header without its
first tab, labels and cells glued together: what can be told for certain is read, the rest is left empty.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from inventory.facts.cpulist import parse_list, run_lengths
from inventory.facts.host import Link

ESCAPES = re.compile(r"(?:\x1b|\ufffd)\[[0-9;]*m")
ROW = re.compile(r"\s*((?:GPU|NIC)\d{1,3}|mlx\d+_\w+)(?=\s)")
# Glued labels are taken apart where a known kind of label begins.
LABEL = re.compile(r"GPU\d{1,3}|NIC\d{1,3}|mlx\d+_(?:bond_)?\d{1,3}|[a-zA-Z][\w-]*")
LINK = re.compile(r"X|NV\d{1,2}(?!\d)|SYS|NODE|PHB|PXB|PIX")
LEGEND = re.compile(r"(?m)^\s*(NIC\d{1,3})\s*:\s*(\S+?)`*\s*$")
CPU, NUMA, MEMORY = "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"
COLUMNS = (CPU, NUMA, MEMORY)
GLUED = "glued"
CELL = re.compile(r"[0-9][0-9,-]*|N/A|")
CUT_AT = 6
"""nvidia-smi prints no more entries of CPU Affinity than this: with even and odd CPUs on two sockets it is cut."""


@dataclass(frozen=True, slots=True)
class Affinity:
    """One GPU's cells as printed, empty where the cell is. `gpu_numa_id` is its own memory's node on Grace."""

    cpus: str
    numa: str
    gpu_numa_id: str

    @property
    def cpus_cut(self) -> bool:
        """Six single CPUs: there may be more."""
        entries = self.cpus.split(",")
        return len(entries) == CUT_AT and not any("-" in entry for entry in entries)


@dataclass(frozen=True, slots=True)
class Matrix:
    """`gpus`: by the header and the rows. `nic_names`: by the legend or the header.

    `legend`: name by the label of a column. `links`: distance by (row label, column label), only from rows whose cells
    match the header.
    """

    gpus: tuple[int, ...] = ()
    nics: tuple[str, ...] = ()
    nic_names: tuple[str, ...] = ()
    affinities: dict[int, Affinity] = field(default_factory=dict)
    links: dict[tuple[str, str], str] = field(default_factory=dict)
    legend: dict[str, str] = field(default_factory=dict)


def parse_matrix(text: str) -> Matrix:
    lines = ESCAPES.sub("", text).splitlines()
    start = next((at for at, line in enumerate(lines) if CPU in line), None)
    if start is None:
        return Matrix()
    header = lines[start].partition(CPU)[0].split()
    labels = tuple(label for word in header for label in LABEL.findall(word))
    rows = matrix_rows(lines[start + 1 :])
    affinities = read_affinities([name for name in COLUMNS if name in lines[start]], rows)
    nics = tuple(label for label in labels if not label.startswith("GPU"))
    legend = LEGEND.findall(text)
    return Matrix(
        gpus=tuple(sorted({int(label[3:]) for label in labels if label.startswith("GPU")} | set(affinities))),
        nics=nics,
        nic_names=tuple(name for _, name in legend) or tuple(nic for nic in nics if not nic.startswith("NIC")),
        affinities=affinities,
        links=read_links(header, labels, rows),
        legend=dict(legend),
    )


def parse_affinities(text: str) -> dict[int, Affinity]:
    """By GPU index."""
    return parse_matrix(text).affinities


def matrix_rows(lines: Iterable[str]) -> dict[str, str]:
    """The rest of each row by its label; a second matrix below (as `topo -p2p` prints) is not this one's."""
    rows: dict[str, str] = {}
    for line in lines:
        match = ROW.match(line)
        if match and match[1] not in rows:
            rows[match[1]] = line[match.end() :]
        elif rows and line.strip():
            break
    return rows


def read_affinities(columns: list[str], rows: Mapping[str, str]) -> dict[int, Affinity]:
    cells = {int(label[3:]): row_cells(columns, rest) for label, rest in rows.items() if label.startswith("GPU")}
    shapes = {run_lengths(row[CPU]) for row in cells.values() if row.get(NUMA)} - {()}
    return {index: Affinity(*(believed(row, shapes).get(name, "") for name in COLUMNS)) for index, row in cells.items()}


def row_cells(columns: list[str], rest: str) -> dict[str, str]:
    """What stands after the distances, by column."""
    if "\t" not in rest:
        return blank_cells(columns, (after_links(rest) or "").split())
    cells = [cell.strip() for cell in rest.split("\t")][1:]
    while cells and after_links(cells[0] or "-") == "":
        cells.pop(0)
    values = [cell for cell in cells if cell]
    if len(values) == len(columns):
        return dict(zip(columns, values, strict=True))
    if MEMORY in columns and len(cells) > len(columns):  # two tabs stand before the last column
        cells = [*cells[: len(columns) - 1], cells[-1]]
    return dict(zip(columns, cells, strict=False))


def blank_cells(columns: list[str], cells: list[str]) -> dict[str, str]:
    """Between blanks an empty cell cannot be seen: with fewer values than columns only the last one is certain."""
    if len(cells) == len(columns):
        return dict(zip(columns, cells, strict=True))
    if MEMORY not in columns or not 0 < len(cells) < len(columns):
        return {}
    return {MEMORY: cells[-1], **({GLUED: cells[0]} if len(cells) == 2 else {})}


def after_links(text: str) -> str | None:
    """The text after the distances that it begins with, glued ones too; None if something is glued to the last."""
    rest = text.lstrip()
    while match := LINK.match(rest):
        behind = rest[match.end() :]
        if behind and not behind[0].isspace() and not LINK.match(behind):
            return None
        rest = behind.lstrip()
    return rest


def believed(row: Mapping[str, str], shapes: Collection[tuple[int, ...]]) -> dict[str, str]:
    """The cells that can be what their column says."""
    cells = {**row, **split_node(row[GLUED], shapes)} if GLUED in row else dict(row)
    return {name: cell for name, cell in cells.items() if CELL.fullmatch(cell)}


def split_node(text: str, shapes: Collection[tuple[int, ...]]) -> dict[str, str]:
    """`0-47,96-1430`: CPUs 0-47,96-143 with node 0 glued on, if another row's CPUs come in runs of that size."""
    splits = [(text[:-digits], text[-digits:]) for digits in (1, 2) if text[-digits:].isdecimal()]
    fitting = [{CPU: cpus, NUMA: node} for cpus, node in splits if run_lengths(cpus) in shapes]
    return fitting[0] if len(fitting) == 1 else {}


def read_links(header: list[str], labels: tuple[str, ...], rows: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Rows of another length than the header are read up to the first glued label."""
    whole = [labels_in[0] for labels_in in takewhile(lambda found: len(found) == 1, map(LABEL.findall, header))]
    links: dict[tuple[str, str], str] = {}
    for row, rest in rows.items():
        cells = LINK.findall(rest[: len(rest) - len(after_links(rest) or "")])
        columns = labels if len(cells) == len(labels) else whole
        links |= {(row, column): cell for column, cell in zip(columns, cells, strict=False)}
    return links


def distances(matrix: Matrix) -> tuple[Link, ...]:
    """Each pair of GPUs once, then each GPU to each NIC; in the order of the matrix."""
    indices = {f"GPU{index}": index for index in matrix.gpus}
    pairs = [
        (indices[row], indices.get(column, matrix.legend.get(column, column)), kind)
        for (row, column), kind in matrix.links.items()
        if row in indices and kind != "X"
    ]
    found = [Link(gpu, to, kind) for gpu, to, kind in pairs if isinstance(to, str) or gpu < to]
    return tuple(sorted(found, key=lambda one: isinstance(one.to, str)))


def cpu_node(numa: str, nodes_with_cpus: Collection[int]) -> int | None:
    """The one node of the cell that has CPUs: `0,3-9,11-17` is node 0 on GB200. None if none or several have."""
    try:
        listed = parse_list(numa)
    except ValueError:
        return None
    candidates = [node for node in listed if node in nodes_with_cpus] if nodes_with_cpus else list(listed)
    return candidates[0] if len(candidates) == 1 else None
