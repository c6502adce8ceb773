"""Which texts may name hosts, users, addresses and paths.

Each function returns its argument or raises `ValueError` with what is required. Nothing that passes can be
read as an option by ssh, as a second word by a shell, or as a specifier by systemd.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

LOCAL_NAMES = frozenset({"local", "localhost"})
"""Host names that mean this machine, by the local transport."""

RESERVED_NAMES = frozenset({"all"})
MAX_NAME = 253

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_USER = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.@+\\-]*[A-Za-z0-9_.@+-])?")
_INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STATE_DIR = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._+@=-]+)+")
_HOP = re.compile(r"(?:ssh://)?(?:([^@/]+)@)?(\[[^\]]+\]|[^@:/\[\]]+)(?::([0-9]{1,5}))?/?")
_REGISTRY = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?(?:/[a-z0-9._-]+)*")
_REPOSITORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)?")
_SYSTEM_DIRS = frozenset(
    f"/{name}"
    for name in (
        *("bin", "boot", "dev", "etc", "home", "lib", "lib64", "opt", "proc", "root", "run", "sbin"),
        *("srv", "sys", "tmp", "usr", "var", "var/lib"),
    )
)
_SECRET = re.compile(r"(?:TOKEN|SECRET|PASSW(?:OR)?D|API_?KEY|CREDENTIALS?)$", re.IGNORECASE)


def host_name(text: str) -> str:
    if not _NAME.fullmatch(text) or len(text) > MAX_NAME or text.lower() in RESERVED_NAMES:
        raise ValueError("letters, digits, '.', '_' and '-', not starting with '.' or '-', and not the word all")
    return text


def is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def address(text: str) -> str:
    """A name or IP address that ssh connects to; an IPv6 zone (`fe80::1%eth0`) is allowed."""
    if is_ip(text) and re.fullmatch(r"[0-9A-Fa-f.:]+(?:%[A-Za-z0-9_.-]+)?", text):
        return text
    if not _NAME.fullmatch(text) or len(text) > MAX_NAME:
        raise ValueError("a host name or an IP address, without user, port or brackets")
    return text


def fabric_address(text: str) -> str:
    """The address that ranks advertise: a literal, because a name may resolve differently on each host."""
    if not is_ip(text) or "%" in text or ipaddress.ip_address(text).is_unspecified:
        raise ValueError("an IP address (not a name, not 0.0.0.0), as ranks on the other hosts reach it")
    return text


def interface(text: str) -> str:
    if not _INTERFACE.fullmatch(text):
        raise ValueError("the name of one network interface, at most 15 characters")
    return text


def user(text: str) -> str:
    if not _USER.fullmatch(text):
        raise ValueError("a login name: letters, digits and _ . @ + - \\, not starting with '-'")
    return text


def port(number: int) -> int:
    if not 1 <= number <= 65535:
        raise ValueError("a TCP port, 1 to 65535")
    return number


def hops(text: str) -> tuple[tuple[str, str, int | None], ...]:
    """Read a ProxyJump value as (user, host, port) of each hop, first hop first; `none` is no hop."""
    if text.lower() == "none":
        return ()
    found = []
    for part in text.split(","):
        match = _HOP.fullmatch(part.strip())
        if match is None:
            raise ValueError("[user@]host[:port], several separated by commas, or none")
        name, host, number = match.groups()
        found.append((user(name) if name else "", address(host.strip("[]")), port(int(number)) if number else None))
    return tuple(found)


def jump(text: str) -> str:
    hops(text)
    return ",".join(part.strip() for part in text.split(","))


def file_path(text: str) -> str:
    """A file on the control machine, the same whatever the working directory is."""
    if not text.startswith(("/", "~/")) or not text.isprintable():
        raise ValueError("a path that starts with / or ~/")
    return text


def url(text: str) -> str:
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good or not text.isascii() or not text.isprintable() or any(one in text for one in " \"'\\<>`"):
        raise ValueError("a URL: http:// or https://, host, optional port and path")
    return text


def key_place(text: str) -> str:
    """Where the public key of a repository is: a file of the control machine, or an address."""
    return url(text) if "://" in text else file_path(text)


def fingerprint(text: str) -> str:
    """The whole fingerprint of an OpenPGP key, as `gpg --show-keys` prints it; upper case, without blanks."""
    digits = text.replace(" ", "").upper()
    if not re.fullmatch(r"[0-9A-F]{40}|[0-9A-F]{64}", digits):
        raise ValueError("a whole fingerprint: 40 hexadecimal digits (the short ids of keys can be forged)")
    return digits


def registry(text: str) -> str:
    if not _REGISTRY.fullmatch(text):
        raise ValueError("host[:port][/path] of a registry, without https://")
    return text


def repository(text: str) -> str:
    """The name of a model on a hub, which becomes the name of a folder on the hosts."""
    if not _REPOSITORY.fullmatch(text) or len(text) > MAX_NAME:
        raise ValueError("org/name of letters, digits, '.', '_' and '-', neither part starting with '.' or '-'")
    return text


def state_dir(text: str) -> str:
    """A directory on a host; the characters are those that survive in shebang lines, units and PATH."""
    path = text.rstrip("/")
    if not _STATE_DIR.fullmatch(path) or path in _SYSTEM_DIRS:
        raise ValueError(
            "an absolute path of letters, digits and . _ + @ = - (no space, ~, % or ..), not a system directory itself"
        )
    return path


def variable(text: str) -> str:
    """The name of an environment variable that may stand in YAML."""
    if not _VARIABLE.fullmatch(text):
        raise ValueError("a name of letters, digits and _")
    if is_secret(text):
        raise ValueError("not a secret: these values are shown in plans and kept in version control")
    return text


def is_secret(variable: str) -> bool:
    """Whether the name of an environment variable says that its value is nobody else's business."""
    return bool(_SECRET.search(variable))


def variable_value(text: str) -> str:
    if not text.isprintable():
        raise ValueError("one line of printable text")
    return text
