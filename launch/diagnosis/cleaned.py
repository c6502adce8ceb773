"""What is written of a host's texts: without what may be a secret, and in a form that can still be read. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.quoting import quote
from inventory.secret import HIDDEN
from launch.building.generation import read_generation
from launch.serving.stored_command import read_command

if TYPE_CHECKING:
    from inventory.facts.redact import Redactor

SECRET = re.compile(r"TOKEN|SECRET|PASS|KEY|CRED|AUTH", re.IGNORECASE)
"""Names of variables whose values are hidden: those of `environments` in programs/collect.sh."""
RECORD, COMMAND = "generation.json", "command.sh"


def cleaned(name: str, host: str, data: bytes, redactor: Redactor) -> bytes:
    """The file `name` of a host as it is kept."""
    if name == RECORD and (record := _record(data, host)) is not None:
        return record
    return redactor.text(_command(data) if name == COMMAND else data)


def _record(data: bytes, host: str) -> bytes | None:
    """The record of the generation as a deploy writes it, in which nothing is secret; None: it is something else."""
    try:
        return read_generation(data.decode(errors="replace"), host).to_line(host).encode()
    except (BringupError, StopIteration):
        return None


def _command(data: bytes) -> bytes:
    """The command without the values of variables whose names say that they are secret; nothing where none is read."""
    text = data.decode(errors="replace")
    command = read_command(text)
    if command is None:
        return b""
    for name, value in command.env.items():
        if SECRET.search(name):
            text = text.replace(quote(f"{name}={value}"), quote(f"{name}={HIDDEN}"))
    return text.encode()
