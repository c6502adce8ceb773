"""Paths of ssh_config as ssh expands them: `~`, `%` tokens and `${VARIABLES}` (ssh_config(5), TOKENS)."""

from __future__ import annotations

import os
import pwd
import re
import socket

Tokens = dict[str, str]

_TOKEN = re.compile(r"%(.)|\$\{(\w+)\}")
_NEXT_PATH = re.compile(r"\s+(?=[/~])")


def tokens(*, target: str, hostname: str, user: str, port: int, key_name: str) -> Tokens:
    """What each `%` letter stands for; `%C` and `%f` make no sense in these paths."""
    me = pwd.getpwuid(os.getuid())
    name = socket.gethostname()
    return {
        "%": "%",
        "d": me.pw_dir,
        "h": hostname,
        "i": str(os.getuid()),
        "k": key_name,
        "L": name.partition(".")[0],
        "l": name,
        "n": target,
        "p": str(port),
        "r": user,
        "u": me.pw_name,
    }


def expand_home(path: str) -> str:
    """Replace a leading `~/` as ssh does: by the home directory of the password database, not of $HOME."""
    return f"{pwd.getpwuid(os.getuid()).pw_dir}/{path[2:]}" if path.startswith("~/") else path


def expand(path: str, values: Tokens) -> str:
    """Expand one path; an unknown token stays as it is, and so names no file. `none` becomes empty."""
    if path == "none":
        return ""

    def replace(match: re.Match[str]) -> str:
        letter, variable = match.groups()
        known = values.get(letter) if letter else os.environ.get(variable)
        return match.group() if known is None else known

    return _TOKEN.sub(replace, expand_home(path))


def expand_all(paths: tuple[str, ...], values: Tokens) -> tuple[str, ...]:
    return tuple(full for path in paths if (full := expand(path, values)))


def split(text: str) -> tuple[str, ...]:
    """Split a list of paths that ssh prints unquoted: a path may hold spaces, and starts with / or ~."""
    return tuple(part for part in _NEXT_PATH.split(text.strip()) if part)
