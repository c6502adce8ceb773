from __future__ import annotations

import base64
import hashlib
from typing import Any

from inventory.quoting import quote
from playbooks.plan import ABSENT, Action, FileContent, Phase, Step
from playbooks.steps.ownership import Ownership


def file(path: str, content: str, *, mode: str, why: str, phase: Phase, sudo: bool = False) -> Step:
    """A file of exactly `content` (UTF-8) and `mode` (four octal digits), replaced by rename; its folder is made."""
    return Step(id=f"file {path}", phase=phase, why=why, sudo=sudo, **file_parts(path, content, mode=mode))


def file_parts(
    path: str, content: str, *, mode: str, owner: str | None = None, group: str | None = None
) -> dict[str, Any]:
    """What a step about one file needs.

    The content travels as base64, so that no byte of it can mean anything to the shell.
    """
    target, sha256 = quote(path), hashlib.sha256(content.encode()).hexdigest()
    whose = Ownership(owner, group)
    return {
        "probe": (
            f"if [ -f {target} ] && [ ! -L {target} ]; then "
            f"sum=$(sha256sum <{target}) && printf '%s ' \"${{sum%% *}}\" && stat -c '%04a{whose.form}' -- {target}; "
            f"elif [ -e {target} ] || [ -L {target} ]; then printf other; else printf {ABSENT}; fi"
        ),
        "wanted": f"{sha256} {mode}{whose.wanted}",
        "script": write(path, content, mode, whose),
        "summary": f"write {path}",
    }


def write(path: str, content: str, mode: str, whose: Ownership) -> str:
    """The script that puts the file in its place by rename: nobody sees half of it."""
    target = quote(path)
    return (
        f'mkdir -p -- "$(dirname -- {target})"\n'
        f"new=$(mktemp {target}.XXXXXX)\n"
        "trap 'rm -f -- \"$new\"' EXIT\n"
        f"base64 -d > \"$new\" <<'END'\n{base64.encodebytes(content.encode()).decode()}END\n"
        f'{whose.script(chr(34) + "$new" + chr(34))}chmod {quote(mode)} -- "$new"\n'
        f'mv -fT -- "$new" {target}\n'
    )


def gone_parts(path: str) -> dict[str, Any]:
    target = quote(path)
    return {
        "probe": f"if [ -e {target} ] || [ -L {target} ]; then printf there; else printf {ABSENT}; fi",
        "wanted": ABSENT,
        "script": f"rm -f -- {target}\n",
        "summary": f"remove {path}",
        "action": Action.DELETE,
        "content": FileContent(path, None),
    }
