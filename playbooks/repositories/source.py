"""Where the packages of one repository come from, as a step needs it: decided on the control machine, host by host."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit, urlunsplit

from inventory.secret import Secret, Url

WORLD, ROOT = "0644", "0600"


@dataclass(frozen=True, slots=True)
class Placed:
    """A file of a host, or none: `text` is empty then."""

    path: str
    text: str
    mode: str = WORLD


@dataclass(frozen=True, slots=True)
class Login:
    """What a server asks for. `at`: host, port and folder that it is for."""

    at: str
    user: str
    password: Secret


@dataclass(frozen=True, slots=True)
class Source:
    """`problem`: id and detail of a refusal, for what cannot be used; the rest is empty then.

    `proxy`: None: what the host is set up for; empty: none, directly.
    """

    name: str
    url: str = ""  # without user and password, no slash at its end
    login: Login | None = None
    fingerprint: str = ""
    key: str = ""  # armored
    proxy: Url | None = None
    problem: tuple[str, str] | None = None

    @property
    def server(self) -> str:
        return urlsplit(self.url).hostname or ""


def without_login(url: Url) -> tuple[str, Login | None]:
    """The address as it may stand in a file that all read, and what its server asks for."""
    parts = urlsplit(url.reveal())
    said, at, server = parts.netloc.rpartition("@")
    plain = urlunsplit(parts._replace(netloc=server, fragment="", query="")).rstrip("/")
    if not at:
        return plain, None
    user, _, password = said.partition(":")
    return plain, Login(plain, unquote(user), Secret(unquote(password)))
