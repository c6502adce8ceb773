"""Which file is the inventory, and whose format it is in."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from inventory import hostsfile, yamlfile
from inventory.ansible import tree
from inventory.errors import BadInput
from inventory.quoting import quote
from inventory.schema import Inventory
from inventory.sshconfig import ssh_mentions
from inventory.yamltext import decode, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE: Final = "BRINGUP_INVENTORY"
DEFAULT: Final = Path("inventory/hosts.yaml")

_YAML_START = re.compile(r"---|\w[\w.-]* *:(?: +#.*)?")
_OWN_KEYS = frozenset({"defaults", "hosts", "groups", "hooks"})


def load(path: Path | None = None, environment: Mapping[str, str] = os.environ) -> Inventory:
    """Read the inventory: `path`, else $BRINGUP_INVENTORY, else ./inventory/hosts.yaml, else one without hosts.

    bringup's own format and Ansible's (YAML and INI) are told apart by what the file says. Raises `BadInput`, or
    `Several`, with file:line:col.
    """
    chosen = path or (Path(environment[VARIABLE]) if environment.get(VARIABLE) else None)
    if chosen is None and not DEFAULT.exists():
        return Inventory(mentions=ssh_mentions)
    found = _read(chosen or DEFAULT)
    return dataclasses.replace(found, mentions=ssh_mentions, warnings=(*found.warnings, *_shared_addresses(found)))


def _read(path: Path) -> Inventory:
    if path.is_dir():
        raise _foreign(path, "a folder", "one file; for several, the one that ansible-inventory makes of them")
    data = read_bytes(path)
    if data.startswith(b"#!") and os.access(path, os.X_OK):
        raise _foreign(path, "a program", "a file: bringup does not run inventories")
    if not _is_yaml(path, data):
        from inventory.ansible import reader

        return reader.from_ini(decode(data, str(path)), path)
    document = yamlfile.parse(data, str(path), keep_tags=True)
    if tree.is_tree(document.data) and not _OWN_KEYS & document.data.keys():
        from inventory.ansible import reader

        return reader.from_tree(document.checked(), path)
    return hostsfile.build(yamlfile.parse(data, str(path)), path)


def _is_yaml(path: Path, data: bytes) -> bool:
    """By the name; without an ending, by the first line that says something, such as `key:` or `---`."""
    if path.suffix in {".yaml", ".yml", ".json"}:
        return True
    lines = (line.strip() for line in data.decode(errors="replace").splitlines())
    first = next((line for line in lines if line and not line.startswith(("#", ";"))), "")
    return not path.suffix and _YAML_START.fullmatch(first) is not None


def _shared_addresses(inventory: Inventory) -> Iterator[str]:
    """Two names for one machine: a gang on both would count it twice."""
    for setting, key in (("fabric_address", ("fabric_address",)), ("address and port", ("address", "port", "jump"))):
        found: dict[tuple[object, ...], list[str]] = {}
        for host in inventory.hosts.values():
            if host.transport != "local":
                found.setdefault(tuple(getattr(host, one) for one in key), []).append(host.name)
        for value, hosts in found.items():
            if len(hosts) > 1 and value[0]:
                yield f"{inventory.source}: {', '.join(hosts[:3])} have the same {setting}, {value[0]}"


def _foreign(path: Path, observed: str, required: str) -> BadInput:
    return BadInput(
        f"{path} cannot be read as an inventory",
        id="ansible-inventory",
        observed=observed,
        required=required,
        next_command=f"ansible-inventory -i {quote(path)} --list --yaml --output hosts.yaml",
    )
