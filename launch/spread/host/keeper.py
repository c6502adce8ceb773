"""All files of the folder: lanes that read what is there and fetch the rest, until every file has its sum."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections import deque
from pathlib import Path

from launch.spread.host.copy import Copy, Folder
from launch.spread.host.fetch import Fetch, Line, Touched, Trouble
from launch.spread.host.journal import Journal, write_whole
from launch.spread.host.pace import Pace
from launch.spread.host.peers import Peers
from launch.spread.host.tally import Tally
from launch.spread.host.wire import PIECE


class Keeper:
    """`lends_early`: what lies here whole is lent while it is still being read. Only for hosts that are known good."""

    def __init__(
        self, copies: list[Copy], folder: Folder, journal: Journal, peers: Peers, tally: Tally, *, lends_early: bool
    ) -> None:
        self.copies, self._folder, self._journal, self._peers, self._tally = copies, folder, journal, peers, tally
        self._lends_early = lends_early
        self._waiting: deque[Copy] = deque(copies)
        self._more = threading.Condition()

    def start(self, lanes: int, me: str, address: str, key: bytes, pace: Pace) -> None:
        for _ in range(lanes):
            lane = (Line(me, address, key), pace)
            threading.Thread(target=self._lane, args=lane, daemon=True).start()

    @property
    def whole(self) -> bool:
        return all(one.done for one in self.copies)

    def again(self, copy: Copy) -> None:
        """Read a copy again that there is doubt about; what is wrong in it is fetched."""
        with self._more:
            if not copy.done:
                return  # it is being worked on
            copy.doubted = True
            copy.forget()
            self._journal.forget(copy)
            self._waiting.append(copy)
            self._more.notify()

    def touched(self) -> list[Copy]:
        """Copies that somebody wrote to after they had their sums."""
        return [one for one in self.copies if one.done and self._folder.stamp(one) != one.stamp]

    def seal(self, name: str, manifest: str) -> None:
        """Everything to the disk, and the manifest behind it."""
        folders = set()
        for copy in self.copies:
            path = self._folder.path(copy)
            _to_disk(path)
            folders.add(path.parent)
        for folder in folders:
            _to_disk(folder)
        path = self._folder.root / name
        if not _holds(path, manifest):
            write_whole(path, manifest)
            _to_disk(path)
            _to_disk(self._folder.root)

    def unseal(self, name: str) -> None:
        """The folder is not known good any more."""
        with contextlib.suppress(FileNotFoundError):
            (self._folder.root / name).unlink()

    def _lane(self, line: Line, pace: Pace) -> None:
        while True:
            with self._more:
                self._more.wait_for(lambda: self._waiting)
                copy = self._waiting.popleft()
            try:
                self._complete(copy, line, pace)
            except OSError as error:
                full = error.errno in {28, 122}  # ENOSPC, EDQUOT
                self._tally.fail("spread-space" if full else "spread-disk", f"{copy.path}: {error.strerror or error}")
                return

    def _complete(self, copy: Copy, line: Line, pace: Pace) -> None:
        if self._journal.recall(copy, self._folder):
            self._tally.was_here(copy.size)
        elif not self._good_here(copy):
            while not self._fetched(copy, line, pace):
                pass
        self._journal.note(copy)
        copy.bad_here, copy.done = False, True
        self._tally.moved()

    def _good_here(self, copy: Copy) -> bool:
        """Read a file that lies here at its full size; whether it is the one of the manifest."""
        stamp = self._folder.stamp(copy)
        if stamp is None or stamp.size != copy.size or not copy.size:
            return False
        early = self._lends_early and not copy.doubted
        sums = self._sums(copy, early=early)
        if sums and sums[-1] == copy.sha256 and self._folder.stamp(copy) == stamp:
            if not early:
                copy.add(*sums)
            copy.stamp = stamp
            self._tally.was_here(copy.size)
            return True
        copy.bad_here = True
        copy.forget()
        return False

    def _sums(self, copy: Copy, *, early: bool) -> list[bytes]:
        total, sums, view = hashlib.sha256(), [], memoryview(bytearray(PIECE))
        file = self._folder.reader(copy)
        try:
            for piece in range(copy.pieces):
                at, size = copy.span(piece)
                if os.preadv(file, [view[:size]], at) != size:
                    break
                total.update(view[:size])
                sums.append(total.digest())
                self._tally.moved()
                if early:
                    copy.add(sums[-1])
        finally:
            os.close(file)
        return sums

    def _fetched(self, copy: Copy, line: Line, pace: Pace) -> bool:
        """Fetch a file, from whoever gives it; False when somebody else wrote to it meanwhile."""
        copy.forget()
        file = self._folder.writer(copy)
        try:
            fetch = Fetch(copy, file, line, self._peers, self._tally, pace)
            while len(copy.sums) < copy.pieces:
                self._ask_somebody(fetch, copy, line)
            fetch.refuse_touched()
            copy.stamp = fetch.stamp
        except Touched:
            return False
        finally:
            os.close(file)
        return True

    def _ask_somebody(self, fetch: Fetch, copy: Copy, line: Line) -> None:
        peer, wait = self._peers.choose(copy.index)
        if peer is None:
            time.sleep(min(1.0, wait))
            return
        try:
            fetch.run_from(peer)
        except (Trouble, OSError) as error:
            if isinstance(error, OSError) and not _of_the_network(error):
                raise
            line.drop(peer)
            self._peers.blame(peer, copy.index if isinstance(error, Trouble) and error.of_file else -1)
            self._tally.trouble[peer.name] = str(error)


def _of_the_network(error: OSError) -> bool:
    return isinstance(error, (ConnectionError, TimeoutError)) or error.errno in _OF_THE_NETWORK


_OF_THE_NETWORK = {100, 101, 110, 112, 113}  # down, unreachable, timed out, host down, no route


def _to_disk(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False
