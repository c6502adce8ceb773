"""Hosts of one machine: each has a loopback address, a state dir and a folder of its own, and runs the real program."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from inventory.fleet import Fleet
from inventory.schema import Host
from launch.spread.parcel import MANIFEST, Parcel, parcel_of
from launch.spread.scripts import Post
from launch.spread.spread import Delivery, Settings, post_of
from launch.spread.told import Told, read_told

QUICK = Settings(lanes=2, patience_s=10.0, idle_s=20.0)


@dataclass(slots=True)
class Swarm:
    """`b` is at 127.77.0.2 and has its things in `root/b`."""

    root: Path
    names: tuple[str, ...]
    parcel: Parcel
    settings: Settings = QUICK

    def fleet(self) -> Fleet:
        return Fleet(
            [Host(name=name, transport="local", state_dir=str(self.root / name / "state")) for name in self.names]
        )

    def folder(self, host: str) -> Path:
        return self.root / host / "model"

    def delivery(self, sources: str, targets: str) -> Delivery:
        """Hosts by their letters."""
        return Delivery(
            parcel=self.parcel,
            folders={name: str(self.folder(name)) for name in self.names},
            addresses={name: f"127.77.0.{at}" for at, name in enumerate(self.names, 1)},
            sources=tuple(sources),
            targets=tuple(targets),
            settings=self.settings,
        )

    def post(self, host: str) -> Post:
        return post_of(host, self.fleet(), self.delivery(host, ""))

    def told(self, host: str) -> Told:
        state = Path(self.post(host).run) / "state.json"
        return read_told(state.read_text() if state.exists() else "")

    def pid(self, host: str) -> int | None:
        """The program's process on `host`, if it runs."""
        try:
            pid, started, _ = (Path(self.post(host).run) / "process").read_text().split()
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return int(pid) if fields[19] == started and fields[0] != "Z" else None

    def kill(self, host: str) -> None:
        pid = self.pid(host)
        assert pid
        os.kill(pid, signal.SIGKILL)

    def whole(self, host: str) -> bool:
        """Every file, and the manifest beside them."""
        here = self.folder(host)
        right = all(sum_of(here / one.path) == one.sha256 for one in self.parcel.files)
        return right and (here / MANIFEST).read_text() == self.parcel.manifest

    def end(self) -> None:
        for name in self.names:
            if pid := self.pid(name):
                os.kill(pid, signal.SIGKILL)


def fill(folder: Path, files: Mapping[str, bytes]) -> Parcel:
    """Write files below `folder`, and describe them; the manifest is not written."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    listed = [
        {"path": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()
    ]
    return parcel_of(json.dumps({"format_version": 1, "files": listed}))


def sum_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def until(true: Callable[[], object], seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)
