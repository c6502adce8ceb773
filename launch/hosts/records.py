"""Dated records of hosts: what they said and what the checks found, kept so that a later look can be compared.

RECORDS/<date>T<time>/          a bundle, as `invoke probe --save` writes it
RECORDS/<date>T<time>/FINDINGS.json
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inventory.errors import BadInput
from launch.console.causes import described
from launch.hosts.bundles import changes, save
from playbooks.finding import Finding

if TYPE_CHECKING:
    from launch.hosts.gather import Answered

FORMAT_VERSION = 1
FINDINGS = "FINDINGS.json"
NAME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:-\d+)?Z")


@dataclass(frozen=True, slots=True)
class Record:
    """One look that was kept. `statuses`: by host and check."""

    folder: Path
    hosts: tuple[str, ...]
    statuses: Mapping[tuple[str, str], str]


def default_folder() -> Path:
    """`$XDG_STATE_HOME/bringup/records`, on the control machine."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(state) / "bringup/records"


def keep(records: Path, answered: Answered, findings: Sequence[Finding], *, now: datetime | None = None) -> Path:
    """Write a record and return its folder. Raises `BadInput` when it cannot be written."""
    moment = (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H-%M-%S")
    try:
        records.mkdir(parents=True, exist_ok=True)
        folder = _free(records, moment)
        save(folder, answered, raw=False)
        document = {"format_version": FORMAT_VERSION, "findings": [described(one) for one in findings]}
        (folder / FINDINGS).write_text(json.dumps(document, indent=1), encoding="utf-8")
    except OSError as error:
        raise BadInput(
            "the record cannot be written",
            id="record",
            observed=str(error),
            required="a folder that this user may write",
            next_command="the same command with --record DIR",
        ) from error
    return folder


def _free(records: Path, moment: str) -> Path:
    names = [f"{moment}Z", *(f"{moment}-{number}Z" for number in range(2, 1000))]
    return next(records / name for name in names if not (records / name).exists())


def latest(records: Path, hosts: Collection[str]) -> Record | None:
    """The newest record that has any of the hosts; one that cannot be read is passed over."""
    folders = sorted((path for path in records.glob("*Z") if NAME.fullmatch(path.name)), key=_moment, reverse=True)
    read = (_read(folder) for folder in folders)
    return next((one for one in read if one and set(one.hosts) & set(hosts)), None)


def _moment(folder: Path) -> tuple[str, int]:
    """Date and time, then the number of those within one second."""
    name = folder.name.removesuffix("Z")
    return name[:19], int(name[20:] or 1)


def _read(folder: Path) -> Record | None:
    try:
        told = json.loads((folder / FINDINGS).read_text(encoding="utf-8"))
        hosts = json.loads((folder / "BUNDLE.json").read_text(encoding="utf-8"))["hosts"]
        rows: list[dict[str, Any]] = told["findings"] if told["format_version"] == FORMAT_VERSION else []
        return Record(folder, tuple(hosts), {(one["host"], one["check"]): one["status"] for one in rows})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def compared(record: Record, answered: Answered, findings: Sequence[Finding]) -> tuple[str, ...]:
    """What is different from an earlier record, a line each: of the hosts first, then of the findings."""
    both = [host for host in answered.hosts if host in record.hosts]
    lines = [str(one) for one in changes(record.folder, answered) if one.host in both]
    for one in findings:
        before = record.statuses.get((one.host, one.check))
        if before and before != one.status and (not one.host or one.host in both):
            lines.append(f"{one.host or 'the fleet'}: {one.check} was {before}, is {one.status}")
    return tuple(lines)
