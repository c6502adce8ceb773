from __future__ import annotations

from inventory.quoting import quote
from playbooks.plan import ABSENT, Phase, Step


def symlink(path: str, target: str, *, why: str, phase: Phase) -> Step:
    """A symbolic link to `target`, switched by rename: nobody ever sees it missing."""
    link = quote(path)
    return Step(
        id=f"symlink {path}",
        phase=phase,
        why=why,
        probe=(
            f"if [ -L {link} ]; then printf 'to %s' \"$(readlink -- {link})\"; "
            f"elif [ -e {link} ]; then printf other; else printf {ABSENT}; fi"
        ),
        wanted=f"to {target}",
        script=f"ln -s -- {quote(target)} {link}.new.$$\nmv -fT -- {link}.new.$$ {link}\n",
        summary=f"point {path} to {target}",
    )
