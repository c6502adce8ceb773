"""Who owns a path, as steps about paths share it: looked at only where a step says whose it must be."""

from __future__ import annotations

from dataclasses import dataclass

from inventory.quoting import quote


@dataclass(frozen=True, slots=True)
class Ownership:
    """Names or numbers; None: whoever makes it."""

    owner: str | None = None
    group: str | None = None

    @property
    def form(self) -> str:
        """What makes stat(1) print `wanted`."""
        return "".join(f" {form}" for form in (_form("u", self.owner), _form("g", self.group)) if form)

    @property
    def wanted(self) -> str:
        return "".join(f" {one}" for one in (self.owner, self.group) if one is not None)

    def script(self, path: str) -> str:
        """Give `path`, a shell word, to them."""
        owner = f"chown -h -- {quote(self.owner)} {path}\n" if self.owner is not None else ""
        return owner + (f"chgrp -h -- {quote(self.group)} {path}\n" if self.group is not None else "")


def _form(letter: str, name: str | None) -> str:
    if name is None:
        return ""
    return f"%{letter if name.isdecimal() else letter.upper()}"
