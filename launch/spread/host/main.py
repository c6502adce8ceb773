"""`python3 spread.pyz RUN`: RUN is a folder that holds `plan.json` and `secret`, and later `peers.json`.

Written there: `state.json` (how it goes, once a second), `process` (which process this is), `notes/`. Ends with 0 when
the folder is whole and nobody asks any more, or when it is told to (`stop`); with 1 and the reason in `state.json`.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from launch.spread.host import wire
from launch.spread.host.copy import Copy, Folder
from launch.spread.host.journal import Journal, boot_id, write_whole
from launch.spread.host.keeper import Keeper
from launch.spread.host.lend import Lender
from launch.spread.host.pace import Pace
from launch.spread.host.peers import Peers
from launch.spread.host.tally import Tally

LOOK_S = 0.2
TELL_S = 1.0
UNTOLD_S = 180.0
"""The control machine tells who takes part when every host has answered it, or not in its time."""


class Run:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.plan: dict[str, Any] = json.loads((place / "plan.json").read_text(encoding="utf-8"))
        self.key = wire.key_of((place / "secret").read_bytes().strip(), self.plan["parcel"])
        self.tally, self.folder = Tally(), Folder(self.plan["folder"])
        self.copies = [Copy(at, *one) for at, one in enumerate(self.plan["files"])]
        self.peers = Peers(self.place / "peers.json", self.plan["me"])
        self.keeper = Keeper(
            self.copies,
            self.folder,
            Journal(self.place / "notes"),
            self.peers,
            self.tally,
            lends_early=self.plan["lends_early"],
        )
        lends = Pace(self.plan["rate"])
        self.lender = Lender(self.plan["me"], self.key, self.copies, self.folder, self.tally, lends)
        self.sealed, self.told_at, self.port, self.stopped = False, 0.0, 0, False

    def run(self) -> int:
        signal.signal(signal.SIGTERM, self._stop)
        threading.excepthook = self._bug
        write_whole(self.place / "process", f"{os.getpid()} {_started()} {boot_id()}\n")
        try:
            self.folder.root.mkdir(0o755, parents=True, exist_ok=True)
            self._refuse_small_disk()
            self.port = self.lender.listen(self.plan["address"])
        except OSError as error:
            reason = "spread-address" if self.folder.root.is_dir() else "spread-disk"
            self.tally.fail(reason, f"{self.plan['address']}, {self.folder.root}: {error.strerror or error}")
        self.tell()
        began = False
        while not self.tally.failed and not self.stopped:
            if not began and self.peers.refresh():
                pace = Pace(self.plan["rate"])
                self.keeper.start(self.plan["lanes"], self.plan["me"], self.plan["address"], self.key, pace)
                self.tally.moved()
                began = True
            if self._is_over(time.monotonic(), self.plan["patience_s"] if began else UNTOLD_S):
                break
            time.sleep(LOOK_S)
        self.tell()
        return 1 if self.tally.failed else 0

    def _refuse_small_disk(self) -> None:
        """What is certain to fail is said before a byte is moved."""
        there = sum(min(one.size, stamp.size) for one in self.copies if (stamp := self.folder.stamp(one)))
        disk = os.statvfs(self.folder.root)
        needed, free = sum(one.size for one in self.copies) - there, disk.f_bavail * disk.f_frsize
        if needed > free:
            self.tally.fail("spread-space", f"{free / 1e9:.2f} GB free, {needed / 1e9:.2f} GB more are needed")

    def _is_over(self, now: float, patience_s: float) -> bool:
        """One look: at the ring, at doubts, at what is whole now. True: nobody needs this process any more."""
        self.peers.refresh()
        self._doubts()
        if self.keeper.whole and not self.sealed:
            self._seal()
        if now - self.told_at > TELL_S:
            self.tell()
        if self.sealed:
            return now - max(self.lender.asked_at, self.tally.moved_at) > float(self.plan["idle_s"])
        if now - self.tally.moved_at > patience_s:
            said = "; ".join(f"{name} {what}" for name, what in sorted(self.tally.trouble.items()))
            lacks = ", ".join(one.path for one in self.copies if not one.done)
            self.tally.fail("spread-starved", f"nobody gives {lacks[:200]}: {said[:600] or 'nobody was told to'}")
        return False

    def _doubts(self) -> None:
        while True:
            try:
                copy = self.lender.doubts.get_nowait()
            except queue.Empty:
                return
            self._again(copy)

    def _again(self, copy: Copy) -> None:
        if copy.done:
            self.keeper.unseal(self.plan["manifest_name"])
            self.sealed = False
        self.keeper.again(copy)

    def _seal(self) -> None:
        """Whole: written to the disk, unless something touched a file meanwhile."""
        touched = self.keeper.touched()
        for copy in touched:
            self._again(copy)
        if touched:
            return
        try:
            self.keeper.seal(self.plan["manifest_name"], self.plan["manifest"])
        except OSError as error:
            full = error.errno in {28, 122}
            self.tally.fail("spread-space" if full else "spread-disk", f"the manifest: {error.strerror or error}")
            return
        self.sealed = True
        self.tell()
        for copy in self.keeper.touched():
            self._again(copy)

    def tell(self) -> None:
        self.told_at = time.monotonic()
        told = {
            **self.tally.told(),
            "port": self.port,
            "bytes": sum(one.verified for one in self.copies),
            "files": sum(one.done for one in self.copies),
            "sealed": self.sealed,
            "bad_here": [one.path for one in self.copies if one.bad_here],
        }
        try:
            write_whole(self.place / "state.json", json.dumps(told))
        except OSError as error:
            self.tally.fail("spread-space" if error.errno in {28, 122} else "spread-disk", f"{self.place}: {error}")

    def _bug(self, raised: threading.ExceptHookArgs) -> None:
        """A fault in this program: it ends, and its output has the whole of it."""
        sys.excepthook(raised.exc_type, raised.exc_value or raised.exc_type(), raised.exc_traceback)
        self.tally.fail("spread-program", f"{raised.exc_type.__name__}: {raised.exc_value}")

    def _stop(self, *_: object) -> None:
        self.stopped = True


def _started() -> str:
    """The start time of this process as /proc tells it: a number may be given again."""
    return Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]


def main() -> int:
    os.umask(0o022)
    return Run(Path(sys.argv[1])).run()
