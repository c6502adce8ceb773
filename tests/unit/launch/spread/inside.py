"""One host of a spread inside this process: the program's parts with pieces of a few bytes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from launch.spread.host import copy as copies
from launch.spread.host import fetch, keeper, wire
from launch.spread.host.copy import Copy, Folder
from launch.spread.host.fetch import Line
from launch.spread.host.journal import Journal
from launch.spread.host.keeper import Keeper
from launch.spread.host.lend import Lender
from launch.spread.host.pace import Pace
from launch.spread.host.peers import Peer, Peers
from launch.spread.host.tally import Tally
from launch.spread.parcel import Parcel

KEY = wire.key_of(b"secret", "parcel")


@contextmanager
def pieces_of(size: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (copies, fetch, keeper):
            patch.setattr(module, "PIECE", size)
        yield


@dataclass(slots=True)
class Inside:
    """Lends as soon as it is made; `complete` is what a lane does with a file."""

    name: str
    place: Path
    copies: list[Copy]
    keeper: Keeper
    lender: Lender
    peers: Peers
    tally: Tally
    port: int

    @classmethod
    def of(cls, name: str, root: Path, parcel: Parcel, *, source: bool = False) -> Inside:
        place = root / name
        (place / "model").mkdir(parents=True, exist_ok=True)
        mine = [Copy(at, one.path, one.size, one.sha256) for at, one in enumerate(parcel.files)]
        folder, tally = Folder(str(place / "model")), Tally()
        peers = Peers(place / "peers.json", name)
        kept = Keeper(mine, folder, Journal(place / "notes"), peers, tally, lends_early=source)
        lender = Lender(name, KEY, mine, folder, tally, Pace(None))
        return cls(name, place, mine, kept, lender, peers, tally, lender.listen("127.0.0.1"))

    def tell(self, ring: Sequence[Inside]) -> None:
        told = [(one.name, "127.0.0.1", one.port) for one in ring]
        (self.place / "peers.json").write_text(json.dumps(told))
        assert self.peers.refresh()

    def complete(self, *indices: int) -> None:
        line = Line(self.name, "127.0.0.1", KEY)
        try:
            for index in indices or range(len(self.copies)):
                self.keeper._complete(self.copies[index], line, Pace(None))
        finally:
            line.close()

    @property
    def peer(self) -> Peer:
        return Peer(self.name, "127.0.0.1", self.port)

    def connect(self, name: str = "asks", key: bytes = KEY) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), 5)
        connection.settimeout(5)
        wire.greet(connection, name, key)
        return connection
