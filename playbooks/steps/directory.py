from __future__ import annotations

from inventory.quoting import quote
from playbooks.plan import ABSENT, Phase, Step


def directory(path: str, *, mode: str, why: str, phase: Phase = Phase.PROVISION) -> Step:
    """A folder of `mode` (four octal digits), its parents included."""
    target = quote(path)
    return Step(
        id=f"directory {path}",
        phase=phase,
        why=why,
        probe=(
            f"if [ -d {target} ]; then printf 'directory %s' \"$(stat -c %04a {target})\"; "
            f"elif [ -e {target} ]; then printf other; else printf {ABSENT}; fi"
        ),
        wanted=f"directory {mode}",
        script=f"mkdir -p -- {target}\nchmod {quote(mode)} -- {target}\n",
        summary=f"make folder {path}",
    )
