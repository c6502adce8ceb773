"""What the control machine asks of HTTP servers: indexes, mirrors, registries. Time-outs, proxies, retries, no secrets.

An address may carry a user and a password: they are sent to its own server only, and shown nowhere.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit, urlunsplit

from inventory.errors import CheckFailed
from inventory.secret import Url

if TYPE_CHECKING:
    from urllib.request import OpenerDirector, Request

TIMEOUT_S = 30.0
"""Seconds without a byte."""
TRIES = 4
WAIT_S = 1.0
MOST_WAIT_S = 60.0
AGAIN = frozenset({429, 500, 502, 503, 504})
MOST_BYTES = 64 << 20
"""Of an answer that is read as a whole."""


class StatusError(Exception):
    """An answer that is none: its status and headers (names in lower case)."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers
        self.body = body


@dataclass(slots=True)
class Web:
    """`proxy` None: what the environment of this process says. `no_proxy`: names, domains that go without it."""

    proxy: str | None = None
    no_proxy: tuple[str, ...] = ()
    timeout_s: float = TIMEOUT_S
    wait_s: float = WAIT_S
    _openers: dict[bool, OpenerDirector] = field(default_factory=dict)

    def open(self, url: str, headers: Mapping[str, str] | None = None, *, method: str = "GET") -> Answer:
        """Ask once. Raises `StatusError`, or `OSError` for what did not answer."""
        from urllib.error import HTTPError

        request, server = _request(url, headers or {}, method)
        try:
            stream = self._opener(server).open(request, timeout=self.timeout_s)
        except HTTPError as error:
            with error:
                raise StatusError(error.code, _lower(error.headers), error.read(65536)) from None
        return Answer(stream, _lower(stream.headers), getattr(stream, "status", None) or 200)

    def read(self, url: str, headers: Mapping[str, str] | None = None, *, method: str = "GET") -> Answer:
        """Ask, and again for what may pass: the answer with its whole body. Raises `StatusError` or `CheckFailed`."""
        for number in range(1, TRIES + 1):
            try:
                with self.open(url, headers, method=method) as answer:
                    answer.body = answer.stream.read(MOST_BYTES)
                    return answer
            except StatusError as error:
                if error.status not in AGAIN or number == TRIES:
                    raise
                self.pause(number, error.headers.get("retry-after", ""))
            except OSError as error:
                if number == TRIES or isinstance(error, FileNotFoundError):
                    raise unanswered(url, error) from None
                self.pause(number)
        raise AssertionError("the last try returns or raises")

    def pause(self, number: int, wanted: str = "") -> None:
        """Wait before the next try, as long as the server wants within reason."""
        seconds = float(wanted) if wanted.isdecimal() else self.wait_s * 2 ** (number - 1)
        time.sleep(min(seconds, MOST_WAIT_S))

    def _opener(self, server: str) -> OpenerDirector:
        from urllib.request import ProxyHandler, build_opener

        direct = any(within(server, one) for one in self.no_proxy)
        if direct not in self._openers:
            told = {"http": self.proxy, "https": self.proxy} if self.proxy else None
            self._openers[direct] = build_opener(ProxyHandler({} if direct else told), _no_leaks())
        return self._openers[direct]


@dataclass(slots=True)
class Answer:
    stream: IO[bytes]
    headers: Mapping[str, str]
    status: int
    body: bytes = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    @property
    def length(self) -> int | None:
        told = self.headers.get("content-length", "")
        return int(told) if told.isdecimal() else None


def shown(url: str) -> str:
    """The address as it may be seen."""
    return str(Url(url))


def unanswered(url: str, error: Exception) -> CheckFailed:
    reason = getattr(error, "reason", None) or error
    observed = f"HTTP {error.status}" if isinstance(error, StatusError) else str(reason) or type(error).__name__
    return CheckFailed(
        f"{shown(url)} cannot be read",
        id="download-failed",
        observed=observed[:300],
        required="an answer to this machine, directly or by the inventory's proxy",
        next_command=f"curl -sSIL -m 20 {shown(url)}; then set mirrors: or proxy: in the inventory",
    )


def _request(url: str, headers: Mapping[str, str], method: str) -> tuple[Request, str]:
    from urllib.request import Request

    parts = urlsplit(url)
    user, at, server = parts.netloc.rpartition("@")
    sent = dict(headers)
    if at:
        name, _, password = user.partition(":")
        told = f"{unquote(name)}:{unquote(password)}".encode()
        sent.setdefault("Authorization", f"Basic {base64.b64encode(told).decode()}")
    if parts.scheme not in {"http", "https", "file"}:
        raise OSError(f"not an address to download from: {parts.scheme}")
    plain = urlunsplit(parts._replace(netloc=server, fragment=""))
    return Request(plain, headers=sent, method=method), parts.hostname or ""  # noqa: S310  (the scheme was looked at)


def _no_leaks() -> Any:  # noqa: ANN401  (the class is imported late)
    from urllib.error import URLError
    from urllib.request import HTTPRedirectHandler

    class Redirects(HTTPRedirectHandler):
        """Who is sent elsewhere takes no password along, and does not leave an encrypted connection."""

        def redirect_request(self, req: Request, *args: Any) -> Request | None:  # noqa: ANN401
            again = super().redirect_request(req, *args)
            if again is not None and again.host != req.host:
                again.remove_header("Authorization")
            if again is not None and req.type == "https" and again.type != "https":
                raise URLError(f"sent from https to {again.type}")
            return again

    return Redirects()


def within(server: str, entry: str) -> bool:
    """Whether an entry of `no_proxy` means this server: its name, or a domain that it is in."""
    domain = entry.lstrip(".*")
    return bool(domain) and (server == domain or server.endswith(f".{domain}"))


def _lower(headers: Any) -> dict[str, str]:  # noqa: ANN401  (of the standard library, in two kinds)
    return {key.lower(): value for key, value in headers.items()}
