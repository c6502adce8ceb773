from __future__ import annotations

from typing import Any

from inventory.quoting import quote
from playbooks.plan import ABSENT, Phase, Step
from playbooks.steps.ownership import Ownership


def directory(path: str, *, mode: str, why: str, phase: Phase = Phase.PROVISION) -> Step:
    """A folder of `mode` (four octal digits), its parents included."""
    return Step(id=f"directory {path}", phase=phase, why=why, **directory_parts(path, mode))


def directory_parts(path: str, mode: str, owner: str | None = None, group: str | None = None) -> dict[str, Any]:
    target = quote(path)
    whose = Ownership(owner, group)
    return {
        "probe": (
            f"if [ -d {target} ]; then stat -c 'directory %04a{whose.form}' -- {target}; "
            f"elif [ -e {target} ] || [ -L {target} ]; then printf other; else printf {ABSENT}; fi"
        ),
        "wanted": f"directory {mode}{whose.wanted}",
        "script": f"mkdir -p -- {target}\nchmod {quote(mode)} -- {target}\n{whose.script(target)}",
        "summary": f"make folder {path}",
    }
