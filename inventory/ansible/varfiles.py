"""Variables in `group_vars/` and `host_vars/` beside an Ansible inventory."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from inventory import yamlfile
from inventory.errors import BringupError
from inventory.yamltext import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.ansible.raw import Variables

SUFFIXES: Final = ("", ".yml", ".yaml", ".json")
VAULT: Final = b"$ANSIBLE_VAULT"
MAX_FILES: Final = 100  # of one host or group


@dataclass(slots=True)
class VariableFiles:
    """Reads them; `errors` and `warnings` are what was wrong, told at the end and together."""

    folder: Path
    errors: list[BringupError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def group(self, name: str) -> Variables:
        return self._read("group_vars", name)

    def host(self, name: str) -> Variables:
        return self._read("host_vars", name)

    def _read(self, kind: str, name: str) -> Variables:
        found: Variables = {}
        if "/" not in name and name not in {"", ".", ".."}:
            for path in _files(self.folder / kind / name):
                found.update(self._variables(path))
        return found

    def _variables(self, path: Path) -> Variables:
        try:
            data = read_bytes(path)
            if data.startswith(VAULT):
                self.warnings.append(f"{path} is encrypted and was not read")
                return {}
            document = yamlfile.parse(data, str(path), keep_tags=True).checked()
        except BringupError as error:
            self.errors += getattr(error, "errors", (error,))
            return {}
        if document.data is None or isinstance(document.data, dict):
            return document.data or {}
        self.errors.append(document.error((), "these are no variables", observed="no mapping", required="a mapping"))
        return {}


def _files(base: Path) -> Iterator[Path]:
    for suffix in SUFFIXES:
        path = base.with_name(base.name + suffix)
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith("."))
            yield from [one for one in inside if one.suffix in SUFFIXES][:MAX_FILES]
        elif path.is_file():
            yield path
