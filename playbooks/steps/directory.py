from __future__ import annotations

from typing import Any, ClassVar, Literal

from inventory.quoting import quote
from playbooks.entry import Account, At, Entry, FilePath, Mode
from playbooks.plan import ABSENT, Phase, Step
from playbooks.steps.ownership import Ownership


class Directory(Entry):
    """A folder, its parents included."""

    PHASE: ClassVar[Phase] = Phase.CONFIGURE
    kind: Literal["directory"]
    path: FilePath
    mode: Mode = "0755"
    owner: Account = "root"
    group: Account = "root"

    def step(self, at: At) -> Step:
        return self.made(at, **_parts(self.path, self.mode, self.owner, self.group))


def directory(path: str, *, mode: str, why: str, phase: Phase = Phase.PROVISION) -> Step:
    """A folder of `mode` (four octal digits), its parents included."""
    return Step(id=f"directory {path}", phase=phase, why=why, **_parts(path, mode))


def _parts(path: str, mode: str, owner: str | None = None, group: str | None = None) -> dict[str, Any]:
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
