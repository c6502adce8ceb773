"""Lend the files of one folder to other hosts for a while: `python3 serve.py FOLDER IDLE_S LIFE_S ADDRESS...`.

Runs on a host, with its own Python; the first line of stdin is the secret that every path must begin with. Prints
`ADDRESS PORT` for each address that it could bind, and ends when nobody has asked for IDLE_S seconds. Whoever fetches
verifies what comes: the secret only keeps strangers out. The files are held open: this host may be done with them, and
have removed them, before the slowest of the others has asked.
"""

from __future__ import annotations

import hmac
import http.server
import os
import resource
import socket
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

PIECE = 1 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    secret = ""
    files: ClassVar[dict[str, int]] = {}  # descriptors by name
    asked = time.monotonic()

    def do_GET(self) -> None:
        Handler.asked = time.monotonic()
        _, secret, name = (*self.path.split("/", 2), "", "")[:3]
        known = hmac.compare_digest(secret.encode(), self.secret.encode())
        if known and name in self.files:
            self._file(self.files[name])
        elif known and not name:
            self._answer(200, {"Content-Length": "0"})
        else:
            self.close_connection = True
            self.send_error(404)

    def _file(self, descriptor: int) -> None:
        # Opened anew: every answer reads at a position of its own.
        with Path(f"/proc/self/fd/{descriptor}").open("rb") as file:
            size = os.fstat(descriptor).st_size
            begin = self._begin(size)
            told = {"Content-Length": str(size - begin)}
            if begin:
                told["Content-Range"] = f"bytes {begin}-{size - 1}/{size}"
            self._answer(206 if begin else 200, told)
            file.seek(begin)
            while piece := file.read(PIECE):
                self.wfile.write(piece)
                Handler.asked = time.monotonic()

    def _begin(self, size: int) -> int:
        wanted = self.headers.get("Range", "")
        number = wanted[6:].rstrip("-")
        return int(number) if wanted.startswith("bytes=") and number.isdecimal() and int(number) < size else 0

    def _answer(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


class Server6(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6


def held(folder: str) -> dict[str, int]:
    """Descriptors of the plain files of `folder` by name, but of hidden ones."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    files = [one for one in os.scandir(folder) if one.is_file(follow_symlinks=False) and one.name[0] != "."]
    return {one.name: os.open(one.path, os.O_RDONLY | os.O_NOFOLLOW) for one in files}


def lend(folder: str, idle_s: float, life_s: float, addresses: list[str]) -> None:
    Handler.secret = sys.stdin.readline().strip()
    Handler.files = held(folder)
    servers = []
    for address in addresses:
        kind = Server6 if ":" in address else http.server.ThreadingHTTPServer
        try:
            servers.append(kind((address, 0), Handler))
        except OSError as error:
            print(f"{address}: {error}", file=sys.stderr)  # noqa: T201
        else:
            print(address, servers[-1].server_address[1], flush=True)  # noqa: T201  (the answer)
            threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
    print("done", flush=True)  # noqa: T201  (the answer)
    end = time.monotonic() + life_s
    while servers and time.monotonic() < end and time.monotonic() - Handler.asked < idle_s:
        time.sleep(0.5)


if __name__ == "__main__":
    lend(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
