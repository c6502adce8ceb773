"""Answers of the gathering script for tests: framed as sh/end.sh frames them, from what each command is to say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from inventory.facts import saved
from inventory.facts.answers import Answers, unframe
from inventory.facts.bundle import read
from inventory.facts.host import HostFacts

MARK = "0f8fad5b-d9cb-469f-a165-70867728950e"
HOSTS = Path(__file__).parent / "fixtures" / "hosts"

Said: TypeAlias = str | bytes | tuple[int, str]
"""What a command printed; with an exit status, what it printed on stderr."""


def framed(items: Mapping[str, Said], ends: Mapping[str, int] | None = None) -> bytes:
    """The answer in which `section.item` said what `items` tell; `ends`: sections that did not end with 0."""
    files = files_of(items)
    sections = {name.partition(".")[0] for name in items} | set(ends or {})
    for section in sections:
        files[f"{section}.end"] = f"{(ends or {}).get(section, 0)}\n".encode()
        files[f"{section}.end.err"] = b""
    files.setdefault("clock.out", b"1800000000.25\n1800000001.25\n")
    return frame_files(dict(sorted(files.items())))


def files_of(items: Mapping[str, Said]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name, said in items.items():
        status, out, err = parts(said)
        files[f"{name}.out"], files[f"{name}.err"] = out, err
        table = f"{name.partition('.')[0]}.status"
        files[table] = files.get(table, b"") + f"{name} {status}\n".encode()
    return files


def parts(said: Said) -> tuple[int, bytes, bytes]:
    if isinstance(said, tuple):
        return said[0], b"", said[1].encode()
    return 0, said if isinstance(said, bytes) else said.encode(), b""


def frame_files(files: Mapping[str, bytes]) -> bytes:
    table = "".join(f"{len(body):5} {name}\n" for name, body in files.items())
    header = f"bringup-facts 1 {MARK}\n{table} 12345 total\n".encode()
    separator = f"\n{MARK}\n".encode()
    return header + separator + b"".join(body + separator for body in files.values()) + b"end\n"


def answers(items: Mapping[str, Said], ends: Mapping[str, int] | None = None) -> Answers:
    return unframe(framed(items, ends))


def fixture(host: str) -> dict[str, Said]:
    """A host of the bundle tests/fixtures/hosts: a file `section.item` for each command, holding what it printed.

    ANSWER.json tells the commands that failed; a new file that it does not list yet counts as a success.
    """
    folder = HOSTS / host
    printed = (path for path in folder.iterdir() if "." in path.name and path.name != saved.ANSWER)
    items: dict[str, Said] = {path.name: path.read_bytes() for path in printed}
    told = saved.HostAnswer.model_validate_json((folder / saved.ANSWER).read_bytes())
    for section, said in told.sections.items():
        for item, ended in said.items.items():
            if ended.status or ended.empty:
                items[f"{section}.{item}"] = (ended.status, ended.err)
    return items


def facts(items: Mapping[str, Said], ends: Mapping[str, int] | None = None) -> HostFacts:
    return read(
        framed(items, ends), host="tray1", noise=b"", seconds=1.0, sent_at=1800000000.0, received_at=1800000001.0
    )
