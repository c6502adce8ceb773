"""What `ansible_ssh_common_args` and its like say of the way to a host: jump host, user, port, key, ssh_config."""

from __future__ import annotations

import re
import shlex
from typing import Final

Reach = dict[str, str]
"""Settings of `Host`, as text."""

_FLAGS: Final = {"-J": "jump", "-F": "ssh_config", "-i": "identity_file", "-l": "user", "-p": "port"}
_OPTIONS: Final = {
    "proxyjump": "jump",
    "identityfile": "identity_file",
    "user": "user",
    "port": "port",
}
_OF_NO_MATTER: Final = re.compile(
    r"control(?:master|path|persist)|serveralive\w+|connecttimeout|connectionattempts|tcpkeepalive|loglevel|"
    r"compression|forwardagent|identitiesonly|preferredauthentications|passwordauthentication|batchmode",
    re.IGNORECASE,
)
_WITH_VALUE: Final = "BbcDEeFIiJLlmOopQRSWw"


def read(text: str) -> tuple[Reach, tuple[str, ...]]:
    """The settings that ssh arguments make, and the arguments that are not used; raises `ValueError`."""
    found: Reach = {}
    unused: list[str] = []
    words = iter(shlex.split(text))
    for word in words:
        flag, value = word[:2], word[2:]
        if flag[:1] == "-" and flag[1:] in _WITH_VALUE and not value:
            value = next(words, "")
        if flag == "-o":
            unused += _option(value, found)
        elif flag in _FLAGS:
            found[_FLAGS[flag]] = value
        elif not re.fullmatch(r"-[46aACqTvx]+", word):
            unused.append(word)
    return found, tuple(unused)


def _option(text: str, found: Reach) -> list[str]:
    match = re.fullmatch(r"\s*(\w+)\s*[=\s]\s*(.*)", text, re.DOTALL)
    if match is None:
        return [f"-o {text}"]
    keyword, value = match.group(1).lower(), match.group(2).strip().strip('"')
    if keyword == "proxycommand":
        found["jump"] = _jump_of(value)
    elif keyword in _OPTIONS:
        found[_OPTIONS[keyword]] = value
    elif not _OF_NO_MATTER.fullmatch(keyword):
        return [f"-o {text}"]
    return []


def _jump_of(command: str) -> str:
    """The jump host of the usual `ssh -W %h:%p [-q] [-p PORT] [user@]host`; raises `ValueError` for anything else."""
    if command == "none":
        return "none"
    words = shlex.split(command)
    target, port, user = "", "", ""
    rest = iter(words[1:])
    for word in rest:
        if word in {"-W", "-p", "-l"}:
            value = next(rest, "")
            port, user = (value if word == "-p" else port), (value if word == "-l" else user)
        elif not word.startswith("-"):
            target = word if not target else "?"
        elif word != "-q":
            target = "?"
    if words[:1] != ["ssh"] or "-W" not in words or target in {"", "?"}:
        raise ValueError("ProxyJump, or a Host entry in ssh_config, in place of this ProxyCommand")
    return f"{f'{user}@' if user else ''}{target}{f':{port}' if port else ''}"
