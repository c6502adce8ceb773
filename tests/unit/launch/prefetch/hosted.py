"""A job as a host carries it out, here: the real programs, the real `hf`, a hub of ours on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from launch.prefetch.job import FetchJob, script_of
from launch.prefetch.manifest import Manifest, ManifestFile
from tests.hub import Hub, blob_id, sha256

HF = str(Path(sys.executable).with_name("hf"))
REPO = "made/up"


def manifest_of(files: dict[str, bytes], commit: str, *, lfs_from: int = 10 << 10) -> Manifest:
    listed = (
        ManifestFile(path, len(data), sha256(data) if len(data) >= lfs_from else None, blob_id(data))
        for path, data in files.items()
    )
    return Manifest(REPO, commit, tuple(listed), source="a test")


@dataclass(frozen=True, slots=True)
class Outcome:
    status: int
    said: str

    @property
    def name(self) -> str:
        """The id that it ended with, nothing when it was well."""
        last = [line for line in self.said.splitlines() if line.startswith("outcome\t")]
        return last[-1].partition("\t")[2].partition(" ")[0] if last else ""


def job_of(hub: Hub, folder: Path, manifest: Manifest, **more: object) -> FetchJob:
    made = FetchJob(
        run="run1",
        folder=str(folder),
        manifest=manifest,
        origin="hub",
        python=(sys.executable,),
        hf=(HF,),
        endpoint=hub.url,
        stall_s=20.0,
        tries=3,
        pause_s=0.05,
        keep_free=0,
    )
    return replace(made, **more)  # type: ignore[arg-type]


def carried_out(job: FetchJob, *, timeout_s: float = 60) -> Outcome:
    done = subprocess.run(
        ["/bin/sh", "-eu", "-c", script_of(job)], capture_output=True, text=True, timeout=timeout_s, check=False
    )
    return Outcome(done.returncode, done.stdout + done.stderr)


def holds(folder: Path, files: dict[str, bytes]) -> bool:
    """Whether the folder has its manifest, and every file as it should be."""
    listed = json.loads((folder / ".bringup-manifest.json").read_text())["files"]
    told = {one["path"]: (one["size"], one["sha256"]) for one in listed}
    wanted = {path: (len(data), sha256(data)) for path, data in files.items()}
    return told == wanted and all((folder / path).read_bytes() == data for path, data in files.items())
