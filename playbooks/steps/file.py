from __future__ import annotations

import base64
import hashlib

from inventory.quoting import quote
from playbooks.plan import ABSENT, Phase, Step


def file(path: str, content: str, *, mode: str, why: str, phase: Phase, sudo: bool = False) -> Step:
    """A file of exactly `content` (UTF-8) and `mode` (four octal digits), replaced by rename; its folder is made.

    The content travels as base64, so that no byte of it can mean anything to the shell.
    """
    target, data = quote(path), content.encode()
    sha256 = hashlib.sha256(data).hexdigest()
    return Step(
        id=f"file {path}",
        phase=phase,
        why=why,
        probe=(
            f"if [ -f {target} ] && [ ! -L {target} ]; then "
            f"printf '%s %s' \"$(sha256sum < {target} | cut -d ' ' -f 1)\" \"$(stat -c %04a {target})\"; "
            f"elif [ -e {target} ] || [ -L {target} ]; then printf other; else printf {ABSENT}; fi"
        ),
        wanted=f"{sha256} {mode}",
        script=(
            f'mkdir -p -- "$(dirname -- {target})"\n'
            f"new=$(mktemp {target}.XXXXXX)\n"
            "trap 'rm -f -- \"$new\"' EXIT\n"
            f"base64 -d > \"$new\" <<'END'\n{base64.encodebytes(data).decode()}END\n"
            f'chmod {quote(mode)} -- "$new"\n'
            f'mv -f -- "$new" {target}\n'
        ),
        summary=f"write {path}",
        sudo=sudo,
    )
