from __future__ import annotations

from typing import Any

from inventory.quoting import quote
from playbooks.plan import ABSENT, Phase, Step


def symlink(path: str, target: str, *, why: str, phase: Phase) -> Step:
    """A symbolic link to `target`, switched by rename: nobody ever sees it missing."""
    return Step(id=f"symlink {path}", phase=phase, why=why, **symlink_parts(path, target))


def symlink_parts(path: str, target: str) -> dict[str, Any]:
    link = quote(path)
    return {
        # A target may hold line ends, which no state may: it is compared on the host, and shown when it is another.
        "probe": (
            f"if [ -L {link} ]; then there=$(readlink -- {link}; printf .); "
            f'if [ "$there" = "$(printf \'%s\\n.\' {quote(target)})" ]; then printf as-wanted; '
            "else printf 'to %s' \"${there%??}\"; fi; "
            f"elif [ -e {link} ]; then printf other; else printf {ABSENT}; fi"
        ),
        "wanted": "as-wanted",
        "script": (
            f'mkdir -p -- "$(dirname -- {link})"\n'
            f"ln -s -- {quote(target)} {link}.new.$$\nmv -fT -- {link}.new.$$ {link}\n"
        ),
        "summary": f"point {path} to {target}",
    }
