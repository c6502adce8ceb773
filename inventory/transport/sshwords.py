"""What the OpenSSH client says when it fails, in our terms. Pure."""

from __future__ import annotations

import re

HOST_KEY = "host-key"

# The first that matches decides: a jump host's failure stands before the closed connection that it causes.
_KINDS: tuple[tuple[str, str], ...] = (
    (HOST_KEY, r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|REVOKED HOST KEY"),
    ("dns", r"Could not resolve hostname"),
    ("jump", r"channel \d+: open failed|stdio forwarding failed"),
    ("auth", r"Permission denied|Too many authentication failures|no more authentication methods"),
    ("kex", r"Unable to negotiate|no matching .* found"),
    ("refused", r"connect to .*: Connection refused"),
    ("no-route", r"connect to .*: (?:No route to host|Network is unreachable|Host is down)"),
    ("timeout", r"timed out|Timeout, server"),
    ("banner", r"kex_exchange_identification|ssh_dispatch_run_fatal|banner|Connection (?:closed|reset) by"),
)
_FINGERPRINT = re.compile(r"The fingerprint for the (\S+) key sent by the remote host is\s+(SHA256:[^\s.]+)")
_OFFENDING = re.compile(r"Offending (?:\S+ )?key in (\S+:\d+)")
_KEY_NAME = re.compile(r"[Hh]ost key (?:is known )?for (\S+)")
_BY_PROXY = "UNKNOWN port 65535"
_CONSEQUENCES = (
    "Connection closed by UNKNOWN",
    "kex_exchange_identification",
    "stdio forwarding failed",
    "Host key verification failed",
    "Disconnected from ",
)
_DEBUG = re.compile(r"debug\d: |OpenSSH_|Authenticated to |Transferred: |Bytes per second: ")


def without_debug(words: str) -> str:
    """What `ssh -v` would say without -v."""
    return "".join(line for line in words.splitlines(keepends=True) if not _DEBUG.match(line))


def failure_kind(words: str) -> str | None:
    """An id of `unreachable`, or `HOST_KEY` for any trouble with keys; None when ssh said nothing."""
    if not words.strip():
        return None
    return next((kind for kind, pattern in _KINDS if re.search(pattern, words)), "ssh-failed")


def on_the_way(words: str) -> bool:
    """Whether it is a jump host that failed, and not the host behind it."""
    return _BY_PROXY in words and failure_kind(words) not in {"jump", "banner"}


def offered_key(words: str) -> str:
    """The key in the warning about a changed one, as `TYPE SHA256:...`; else empty."""
    found = _FINGERPRINT.search(words)
    return f"{found[1]} {found[2]}" if found else ""


def offending_line(words: str) -> str:
    """`FILE:LINE` of the recorded key that is not the one that was shown; else empty."""
    found = _OFFENDING.search(words)
    return found[1] if found else ""


def key_name(words: str) -> str:
    """The name under which ssh looked for a host key that it refused; else empty."""
    found = _KEY_NAME.search(words)
    return found[1] if found else ""


def last_line(words: str) -> str:
    """The last line that is a cause and not a consequence."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    causes = [line for line in lines if not line.startswith(_CONSEQUENCES)]
    return (causes or lines or ["nothing"])[-1][-300:]
