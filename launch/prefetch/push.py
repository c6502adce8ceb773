"""From this machine to one host: what it has as a folder, or fetches first, as the host itself would."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import ChangeFailed
from inventory.quoting import quote, quote_all
from launch.prefetch.job import REFUSALS, WORK, FetchJob, script_of
from playbooks.plan import refusal_of

if TYPE_CHECKING:
    from inventory.secret import Secret
    from inventory.transport.base import Transport
    from launch.prefetch.manifest import Manifest
    from launch.prefetch.progress import Progress

PIECE = 1 << 20
SLOWEST = 1e6
ASK_S = 60.0
HERE = "this machine"


def store_folder(manifest: Manifest, environ: Mapping[str, str]) -> Path:
    """Where this machine keeps what it fetches for hosts."""
    cache = Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return cache / "bringup/weights" / manifest.repo.replace("/", "--") / manifest.commit


def fetched_here(job: FetchJob, token: Secret | None, progress: Progress) -> None:
    """Carry the job out on this machine. Raises `ChangeFailed` with the reason that it gave."""
    folder = Path(job.folder)
    (folder / WORK).mkdir(parents=True, exist_ok=True)
    if token:
        _write_private(folder / WORK / "token", token.reveal())
    here = replace(job, python=(sys.executable,), hf=(str(Path(sys.executable).with_name("hf")),))
    progress.begin({HERE: job.bytes}, "fetching")
    with subprocess.Popen(
        ["/bin/sh", "-eu", "-s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        assert process.stdin  # noqa: S101  (asked for above)
        assert process.stdout  # noqa: S101
        process.stdin.write(script_of(here))
        process.stdin.close()
        last = _heard(process.stdout, progress)
    if process.returncode != 0:
        refusal, detail = refusal_of(last.removeprefix("outcome\t"), REFUSALS)
        raise refusal.error(ChangeFailed, HERE, detail) if refusal else _failed(last)


def _heard(lines: Iterator[str], progress: Progress) -> str:
    last = ""
    for line in lines:
        last = line.strip() or last
        progress.heard(HERE, line)
    return last


def _failed(last: str) -> ChangeFailed:
    refusal = next(one for one in REFUSALS if one.id == "fetch-failed")
    error = refusal.error(ChangeFailed, HERE, last)
    assert isinstance(error, ChangeFailed)  # noqa: S101
    return error


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Sending:
    """From the folder `source` here to `folder` there; `limit`: bytes a second."""

    source: Path
    folder: str
    limit: int | None
    progress: Progress


def send(transport: Transport, to: Sending, paths: Mapping[str, tuple[int, int]]) -> None:
    """Send files as parts; `paths`: size, and how much of it has come before. The host verifies them."""
    parts = f"{to.folder}/{WORK}/parts"
    folders = sorted({str(Path(parts, path).parent) for path in paths})
    transport.run(f"mkdir -p -- {quote_all(folders)}", timeout=ASK_S)
    to.progress.begin({transport.host: sum(size for size, _ in paths.values())}, "sending")
    sent = sum(there for _, there in paths.values())
    for path, (size, there) in paths.items():
        if there > size:
            transport.run(f"rm -f -- {quote(f'{parts}/{path}')}", timeout=ASK_S)
            sent, there = sent - there, 0  # noqa: PLW2901

        def told(count: int) -> None:
            nonlocal sent
            sent += count
            to.progress.sent(transport.host, sent)

        if size > there or size == 0:
            pieces = _pieces(to.source / path, there, to.limit, told)
            transport.append(
                pieces, f"{parts}/{path}", deadline_s=ASK_S + (size - there) / min(SLOWEST, to.limit or SLOWEST)
            )


def _pieces(file: Path, begin: int, limit: int | None, told: object) -> Iterator[bytes]:
    began, count = time.monotonic(), 0
    with file.open("rb") as stream:
        stream.seek(begin)
        while piece := stream.read(PIECE):
            yield piece
            count += len(piece)
            told(len(piece))  # type: ignore[operator]
            if limit:
                time.sleep(max(0.0, count / limit - (time.monotonic() - began)))
