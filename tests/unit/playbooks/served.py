"""A server of files for tests, on loopback: ranges, slips on purpose, and what it was asked."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Page:
    """One answer. `cut`: the first so many answers end in the middle; `fails`: the first so many are this status."""

    body: bytes
    kind: str = "application/octet-stream"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    fails: int = 0
    fails_with: int = 503


@dataclass(slots=True)
class Site:
    """`pages` by path. `asked`: method, path and headers of every question. `ranges`: whether it can resume."""

    url: str = ""
    pages: dict[str, Page] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    ranges: bool = True
    answers: Any = None  # a function (method, path, headers) that returns a Page, before `pages`

    def asked_paths(self) -> list[str]:
        return [path for _, path, _ in self.asked]


@contextmanager
def serving(address: str = "127.0.0.1") -> Iterator[Site]:
    site = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = {key.lower(): value for key, value in self.headers.items()}
            site.asked.append((self.command, self.path, headers))
            own = site.answers(self.command, self.path, headers) if site.answers else None
            page = own or site.pages.get(self.path) or Page(b"not here", status=404)
            self.answer(page, headers.get("range", ""))

        do_HEAD = do_GET  # noqa: N815  (the library's name)

        def answer(self, page: Page, wanted: str) -> None:
            if page.fails:
                page.fails -= 1
                page = Page(b"slipped", status=page.fails_with, headers=page.headers)
            begin = int(wanted[6:-1]) if site.ranges and wanted.startswith("bytes=") and page.status == 200 else 0
            body = page.body[begin:]
            self.send_response(206 if begin else page.status)
            self.send_header("Content-Type", page.kind)
            self.send_header("Content-Length", str(len(body)))
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(page.body) - 1}/{len(page.body)}")
            for key, value in page.headers.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            if page.cut:
                page.cut -= 1
                body = body[: len(body) // 2]
                self.close_connection = True
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tests look at `asked`."""

    with http.server.ThreadingHTTPServer((address, 0), Handler) as server:
        server.daemon_threads = True
        site.url = f"http://{address}:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
