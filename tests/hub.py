"""A model hub for tests: what huggingface_hub asks is answered as the real one does, with slips on purpose.

`python -m tests.hub [ADDRESS [PORT]]` serves one made-up model until Ctrl-C. Everything in it is made by tests.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import random
import re
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

LFS_FROM = 10 << 10
"""Bytes from which files are kept as LFS files here."""
PIECE = 16 << 10


def commit_of(files: dict[str, bytes]) -> str:
    """A commit that names its files as git's does: other bytes are another commit."""
    return _sha1(b"".join(k.encode() + hashlib.sha256(v).digest() for k, v in sorted(files.items())))


def blob_id(data: bytes) -> str:
    return _sha1(b"blob %d\0" % len(data) + data)


def made_files(total: int = 2_000_000, shards: int = 4, seed: int = 7) -> dict[str, bytes]:
    """Files as of a model: small ones beside shards of random bytes. They are no model that could be loaded."""
    drawn = random.Random(seed)  # noqa: S311  (bytes, no secret)
    files = {
        "config.json": json.dumps({"architectures": ["MadeUp"], "seed": seed}).encode(),
        "tokenizer.json": json.dumps({"version": "1.0", "model": {"type": "BPE"}}).encode(),
        "assets/notes with blanks.txt": b"no model\n",
    }
    for number in range(1, shards + 1):
        files[f"model-{number:05d}-of-{shards:05d}.safetensors"] = drawn.randbytes(total // shards)
    return files


@dataclass(slots=True)
class Slip:
    """What goes wrong: `kind` is status, truncate, stall, corrupt or slow; `times` answers with it, then no more."""

    kind: str
    times: int = 1
    status: int = 503
    at: int = 1000  # bytes after which it happens
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 3600.0


@dataclass(slots=True)
class Repo:
    """`main` is what the branch points to; earlier commits stay. `token`: without it, 401."""

    commits: dict[str, dict[str, bytes]]
    main: str
    token: str | None = None
    gated: bool = False


@dataclass(slots=True)
class Hub:
    """`slips`: by a part of the question; `rate`: bytes a second of all answers; `asked`: method, path, headers."""

    url: str = ""
    cdn: str = ""
    repos: dict[str, Repo] = field(default_factory=dict)
    slips: dict[str, Slip] = field(default_factory=dict)
    rate: float | None = None
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)

    def add(self, repo: str, files: dict[str, bytes], **more: object) -> str:
        """Push a commit to main; returns it."""
        commit = commit_of(files)
        known = self.repos.setdefault(repo, Repo({}, commit, **more))  # type: ignore[arg-type]
        known.commits[commit], known.main = files, commit
        return commit

    def blob(self, digest: str) -> bytes | None:
        commits = (files for repo in self.repos.values() for files in repo.commits.values())
        return next((data for files in commits for data in files.values() if sha256(data) == digest), None)

    def asked_paths(self, method: str = "GET") -> list[str]:
        return [path for how, path, _ in self.asked if how == method]


class Server(http.server.ThreadingHTTPServer):
    """`hub` answers as the hub itself; its `cdn` is a server of its own, to which no token may come."""

    def __init__(self, address: tuple[str, int], hub: Hub, certificate: Path | None = None) -> None:
        super().__init__(address, Handler)
        self.hub = hub
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # Hands are shaken by the thread of each connection: nobody waits for a client that does not.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that does not trust the certificate hangs up: that is no error of this server."""
        if not isinstance(sys.exc_info()[1], ssl.SSLError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    @property
    def hub(self) -> Hub:
        return self.server.hub

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.close_connection = False
        path = unquote(urlsplit(self.path).path)
        headers = {key.lower(): value for key, value in self.headers.items()}
        with self.hub.lock:
            self.hub.asked.append((self.command, path, headers))
        try:
            self._answer(path, headers)
        except OSError:
            self.close_connection = True

    do_HEAD = do_GET  # noqa: N815  (the library's name)

    def _answer(self, path: str, headers: dict[str, str]) -> None:
        slip = _slip(self.hub, f"{self.command} {path}")
        if slip and slip.kind == "status":
            self._send(slip.status, b"slipped", slip.headers)
            return
        blob = re.fullmatch(r"/lfs/([0-9a-f]{64})", path)
        api = re.fullmatch(r"/api/models/([^/]+/[^/]+)/(revision|tree)/([^/]+)(?:/.*)?", path)
        resolve = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if blob:
            data = self.hub.blob(blob[1])
            self._file(data, {}, headers, slip, path) if data is not None else self._send(404, b"no blob")
        elif api:
            self._api(api[1], api[2], api[3], headers)
        elif resolve:
            self._resolve(resolve[1], resolve[2], resolve[3], headers, slip)
        else:
            self._send(404, b"{}")

    def _repo(self, name: str, headers: dict[str, str]) -> Repo | None:
        repo = self.hub.repos.get(name)
        shown = headers.get("authorization", "").removeprefix("Bearer ")
        if repo is None or (repo.token and not shown):
            told = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
            self._send(401, b'{"error":"Repository not found"}', told)
        elif repo.token and shown != repo.token:
            self._send(401, b'{"error":"Invalid user token."}', {"X-Error-Message": "Invalid user token."})
        elif repo.gated:
            told = {"X-Error-Code": "GatedRepo", "X-Error-Message": f"Access to model {name} is restricted"}
            self._send(403, b'{"error":"gated"}', told)
        else:
            return repo
        return None

    def _commit(self, repo: Repo, revision: str) -> str | None:
        commit = repo.main if revision == "main" else revision
        if commit in repo.commits:
            return commit
        self._send(404, b'{"error":"Invalid rev id"}', {"X-Error-Code": "RevisionNotFound"})
        return None

    def _api(self, name: str, what: str, revision: str, headers: dict[str, str]) -> None:
        repo = self._repo(name, headers)
        commit = self._commit(repo, revision) if repo else None
        if repo is None or commit is None:
            return
        files = repo.commits[commit]
        if what == "tree":
            tree = [{"type": "file", "oid": blob_id(d), "size": len(d), "path": p, **_lfs(d)} for p, d in files.items()]
            self._send(200, json.dumps(tree).encode(), {"Content-Type": "application/json"})
            return
        blobs = "blobs" in parse_qs(urlsplit(self.path).query)
        siblings = [
            {"rfilename": p, **({"size": len(d), "blobId": blob_id(d), **_lfs(d)} if blobs else {})}
            for p, d in files.items()
        ]
        told = {"_id": "0", "id": name, "modelId": name, "sha": commit, "private": False, "gated": False}
        told |= {"disabled": False, "downloads": 0, "likes": 0, "tags": [], "siblings": siblings}
        self._send(200, json.dumps(told).encode(), {"Content-Type": "application/json"})

    def _resolve(self, name: str, revision: str, path: str, headers: dict[str, str], slip: Slip | None) -> None:
        repo = self._repo(name, headers)
        commit = self._commit(repo, revision) if repo else None
        if repo is None or commit is None:
            return
        data = repo.commits[commit].get(path)
        if data is None:
            self._send(404, b"Entry not found", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
            return
        told = {"X-Repo-Commit": commit}
        if len(data) < LFS_FROM:
            self._file(data, {**told, "ETag": f'"{blob_id(data)}"'}, headers, slip, path)
            return
        told |= {"X-Linked-Etag": f'"{sha256(data)}"', "X-Linked-Size": str(len(data))}
        self._send(302, b"", {**told, "Location": f"{self.hub.cdn}/lfs/{sha256(data)}"})

    def _file(self, data: bytes, told: dict[str, str], headers: dict[str, str], slip: Slip | None, path: str) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        begin = int(wanted[1]) if wanted else 0
        end = int(wanted[2]) + 1 if wanted and wanted[2] else len(data)
        part = data[begin:end]
        if wanted:
            told = {**told, "Content-Range": f"bytes {begin}-{end - 1}/{len(data)}"}
        self._head(206 if wanted else 200, {**told, "Content-Length": str(len(part)), "Accept-Ranges": "bytes"})
        if self.command != "HEAD":
            self._body(part, slip, path)

    def _body(self, part: bytes, slip: Slip | None, path: str) -> None:
        if slip and slip.kind == "corrupt":
            at = min(slip.at, len(part) - 1)
            part = part[:at] + bytes([part[at] ^ 1]) + part[at + 1 :]
        for begin in range(0, len(part), PIECE):
            piece = part[begin : begin + PIECE]
            if slip and slip.kind in {"truncate", "stall"} and begin + len(piece) > slip.at:
                self.wfile.write(piece[: max(0, slip.at - begin)])
                self.wfile.flush()
                if slip.kind == "stall":
                    self.hub.ended.wait(slip.seconds)
                self.close_connection = True
                return
            self.wfile.write(piece)
            with self.hub.lock:
                self.hub.sent[path] = self.hub.sent.get(path, 0) + len(piece)
                if self.hub.rate:
                    time.sleep(len(piece) / self.hub.rate)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self._head(status, {**(headers or {}), "Content-Length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def _sha1(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _lfs(data: bytes) -> dict[str, object]:
    if len(data) < LFS_FROM:
        return {}
    return {"lfs": {"oid": sha256(data), "sha256": sha256(data), "size": len(data), "pointerSize": 130}}


def _slip(hub: Hub, asked: str) -> Slip | None:
    """`GET /lfs/` slips for every such question, `times` times in all."""
    with hub.lock:
        for part, slip in hub.slips.items():
            if part in asked and slip.times > 0:
                slip.times -= 1
                return slip
    return None


@contextmanager
def serving(address: str = "127.0.0.1", port: int = 0, *, certificate: Path | None = None) -> Iterator[Hub]:
    """A hub of its own; with `certificate`, a file with a key in it, by TLS."""
    hub, scheme = Hub(), "https" if certificate else "http"
    servers = [Server((address, number), hub, certificate) for number in (port, 0)]
    hub.url, hub.cdn = (f"{scheme}://{address}:{one.server_address[1]}" for one in servers)
    threads = [threading.Thread(target=one.serve_forever, args=(0.05,), daemon=True) for one in servers]
    for thread in threads:
        thread.start()
    try:
        yield hub
    finally:
        hub.ended.set()
        for one, thread in zip(servers, threads, strict=True):
            one.shutdown()
            one.server_close()
            thread.join()


def main() -> None:
    address, port = (*sys.argv[1:3], *("127.0.0.1", "0")[len(sys.argv) - 1 :])
    with serving(address, int(port)) as hub:
        commit = hub.add("made/up", made_files())
        print(f"HF_ENDPOINT={hub.url} hf download made/up --revision {commit}", flush=True)  # noqa: T201
        threading.Event().wait()


if __name__ == "__main__":
    main()
