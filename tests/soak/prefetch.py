"""Fetches that go wrong, round after round: `python -m tests.soak.prefetch --rounds 100 [--seed 1]`.

Each round a host's job is carried out here against a hub of ours, three in ten with the real `hf` and the others with
bringup's own program, while one thing goes wrong. It must end verified or with a named reason, and typed again without
the fault it must end verified; no folder may ever have a manifest beside bytes that are not the listed ones.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from launch.prefetch.job import REFUSALS, FetchJob, script_of
from tests.hub import Hub, Slip, made_files, serving
from tests.unit.launch.prefetch.hosted import REPO, Outcome, carried_out, holds, job_of, manifest_of

NAMES = {one.id for one in REFUSALS}
SIZE, SHARDS = 400_000, 3
OWN = 0.7
"""Of rounds with bringup's own program instead of the hub's client: it starts much faster."""
STALL_S = 60.0  # a client may need many seconds to begin on a loaded machine


def slips(kind: str, status: int = 503) -> Callable[[Hub, random.Random], None]:
    def go(hub: Hub, drawn: random.Random) -> None:
        hub.slips["GET /lfs/"] = Slip(
            kind, times=drawn.choice([1, 2, 50]), status=status, at=drawn.randrange(1, 120_000)
        )

    return go


AT_THE_HUB: dict[str, Callable[[Hub, random.Random], None]] = {
    "429": slips("status", status=429),
    "503": slips("status", status=503),
    "403": slips("status", status=403),
    "truncated": slips("truncate"),
    "corrupted": slips("corrupt"),
    "stalled": lambda hub, drawn: hub.slips.update({"GET /lfs/": Slip("stall", at=drawn.randrange(100_000))}),
}
ON_THE_HOST = ("killed", "cancelled", "byte on disk", "cut on disk", "part on disk", "record lost")


def harm(kind: str, folder: Path, files: dict[str, bytes], drawn: random.Random) -> None:
    """What a disk, or somebody, does to a folder that was being filled."""
    there = [folder / path for path in files if (folder / path).exists() and files[path]]
    parts = [*(folder / ".cache/huggingface/download").rglob("*.incomplete")]
    parts += [one for one in (folder / ".cache/bringup/parts").rglob("*") if one.is_file()]
    if kind == "record lost":
        (folder / ".bringup-verified.json").write_text(drawn.choice(["", "{", "[]", '{"config.json": 3}']))
    elif kind == "part on disk" and parts:
        parts[0].write_bytes(drawn.randbytes(5000))
    elif there:
        one = drawn.choice(there)
        data = bytearray(one.read_bytes())
        at = drawn.randrange(len(data))
        data[at] ^= 1
        one.write_bytes(bytes(data[:at]) if kind == "cut on disk" else bytes(data))


@contextmanager
def going(job: FetchJob) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        ["/bin/sh", "-eu", "-c", script_of(job)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        yield process


def disturbed(kind: str, hub: Hub, job: FetchJob, drawn: random.Random) -> Outcome:
    """The job while something is done to it on its host."""
    folder = Path(job.folder)
    if kind not in {"killed", "cancelled"}:
        first = carried_out(job)
        harm(kind, folder, manifest_files(hub, job), drawn)
        return first
    hub.rate = 150_000
    with going(job) as process:
        end = time.monotonic() + drawn.uniform(0.5, 6)
        while time.monotonic() < end and process.poll() is None:
            time.sleep(0.05)
        if kind == "killed":
            with suppress(ProcessLookupError):  # it was done before
                os.killpg(process.pid, signal.SIGKILL)
        elif (folder / ".cache/bringup").is_dir():
            (folder / ".cache/bringup/cancel").touch()
        said, _ = process.communicate(timeout=120)
    hub.rate = None
    return Outcome(process.returncode, said)


def manifest_files(hub: Hub, job: FetchJob) -> dict[str, bytes]:
    return hub.repos[REPO].commits[job.manifest.commit]


def never_wrong(folder: Path, files: dict[str, bytes]) -> bool:
    """Whether the folder claims nothing, or what it claims is so."""
    return not (folder / ".bringup-manifest.json").exists() or holds(folder, files)


def one_round(number: int, hub: Hub, at: Path, seed: int) -> tuple[str, str]:
    """Returns what went wrong, and how that ended. Raises `AssertionError` for what may not be."""
    drawn = random.Random(f"{seed}:{number}")  # noqa: S311  (chance, no secret)
    kind = drawn.choice([*AT_THE_HUB, *ON_THE_HOST])
    files = made_files(SIZE, SHARDS, seed=seed * 10_000 + number)
    commit = hub.add(REPO, files)
    folder = at / f"round{number}"
    job = job_of(hub, folder, manifest_of(files, commit), stall_s=STALL_S, tries=2)
    if drawn.random() < OWN:
        urls = tuple((path, f"{hub.url}/{REPO}/resolve/{commit}/{quote(path)}") for path in files)
        job = replace(job, origin="pull", urls=urls, stall_s=STALL_S / 6)
    if kind in AT_THE_HUB:
        AT_THE_HUB[kind](hub, drawn)
        ended = carried_out(job, timeout_s=300)
    else:
        ended = disturbed(kind, hub, job, drawn)
    hub.slips.clear()
    killed = kind == "killed" and ended.status < 0
    assert ended.status == 0 or ended.name in NAMES or killed, f"{kind}: no name\n{ended.said}"
    if kind not in ON_THE_HOST[2:]:
        assert never_wrong(folder, files), f"{kind}: wrong bytes below a manifest"
    again = carried_out(job, timeout_s=300)
    assert again.status == 0, f"{kind}: not verified when it was typed again\n{again.said}"
    assert holds(folder, files), f"{kind}: wrong bytes"
    return kind, "verified at once" if ended.status == 0 else ended.name or "killed"


def soak(rounds: int, seed: int) -> collections.Counter[tuple[str, str]]:
    """All rounds; what went wrong and how it ended, counted."""
    counted: collections.Counter[tuple[str, str]] = collections.Counter()
    with serving() as hub, tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            fault, ended = one_round(number, hub, Path(folder), seed)
            counted[fault, ended] += 1
            sys.stderr.write(f"{number + 1}: {fault}: {ended}\n")
            shutil.rmtree(Path(folder) / f"round{number}", ignore_errors=True)
            hub.asked.clear()
            hub.repos.clear()
    return counted


def main() -> None:
    parser = argparse.ArgumentParser(description="Fetches that go wrong, round after round")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    began = time.monotonic()
    counted = soak(asked.rounds, asked.seed)
    rows = [{"fault": fault, "ended": ended, "rounds": count} for (fault, ended), count in sorted(counted.items())]
    told = {"rounds": asked.rounds, "seed": asked.seed, "seconds": round(time.monotonic() - began), "ended": rows}
    sys.stdout.write(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
