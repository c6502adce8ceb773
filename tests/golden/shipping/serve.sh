
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20; }
boot_id() { cat /proc/sys/kernel/random/boot_id; }
recorded_alive() { # file: is the process of this record alive?
  [ -r "$1" ] && read -r pid started booted <"$1" || return 1
  [ "$booted" = "$(boot_id)" ] && [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ]
}

cd -- '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210' && umask 077 || exit 1
command -v python3 >/dev/null || { echo 'no python3 here' >&2; exit 1; }
cat >'/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.serve.py <<'END_OF_PROGRAM'
"""Lend the files of one folder to other hosts for a while: `python3 serve.py FOLDER IDLE_S LIFE_S ADDRESS...`.

Runs on a host, with its own Python; the first line of stdin is the secret that every path must begin with. Prints
`ADDRESS PORT` for each address that it could bind, and ends when nobody has asked for IDLE_S seconds. Whoever fetches
verifies what comes: the secret only keeps strangers out.
"""

from __future__ import annotations

import hmac
import http.server
import os
import socket
import sys
import threading
import time

PIECE = 1 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    secret = ""
    folder = -1  # a descriptor: it stays the same folder when that is renamed
    asked = time.monotonic()

    def do_GET(self) -> None:
        Handler.asked = time.monotonic()
        _, secret, name = (*self.path.split("/", 2), "", "")[:3]
        if not hmac.compare_digest(secret.encode(), self.secret.encode()) or "/" in name or name.startswith("."):
            self.close_connection = True
            self.send_error(404)
        elif not name:
            self._answer(200, {"Content-Length": "0"})
        else:
            self._file(name)

    def _file(self, name: str) -> None:
        try:
            file = os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self.folder), "rb")
        except OSError:
            self.send_error(404)
            return
        with file:
            size = os.fstat(file.fileno()).st_size
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


def lend(folder: str, idle_s: float, life_s: float, addresses: list[str]) -> None:
    Handler.secret = sys.stdin.readline().strip()
    Handler.folder = os.open(folder, os.O_RDONLY)
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

END_OF_PROGRAM
printf '%s\n' secret >'/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.secret
setsid python3 '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.serve.py . 300 43200 10.2.0.1 fd00::1 \
  <'/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.secret >'/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.served 2>&1 &
printf '%s %s %s\n' "$!" "$(start_time "$!")" "$(boot_id)" >'/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.server
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  if grep -qx 'done' '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.served; then break; fi
  sleep 0.25
done
rm -f -- '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.secret
cat '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.served
