"""The files of a generation on one host: the command, the systemd unit and the record of what they are. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.quoting import quote

if TYPE_CHECKING:
    from jinja2 import Environment

    from launch.command import HostCommand

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class UnitSettings:
    """What the unit of one host needs beside its command."""

    deployment: str
    generation: str
    directory: str  # of the generation, absolute
    user: str


# The engine keeps the pid of the shell that becomes it. Pid, start time and boot id name one process for ever.
_RECORD = r"""printf '%s %s %s\n' "$$" "$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 20)" \
  "$(cat /proc/sys/kernel/random/boot_id)" >"$directory/record.new" && mv "$directory/record.new" "$directory/record"
"""


def command_file(command: HostCommand, settings: UnitSettings) -> str:
    """The shell script that becomes the engine: a clean, explicit environment and one argv, nothing inherited."""
    env = (*command.env, ("BRINGUP_DEPLOYMENT", f"{settings.deployment}/{settings.generation}"))
    lines = [f"  {quote(f'{key}={value}')} \\" for key, value in env]
    lines += [f"  {quote(word)} \\" for word in command.argv[:-1]]
    return "\n".join(
        [
            "#!/bin/sh",
            f"# {settings.deployment}, generation {settings.generation}, on {command.host}: written by bringup.",
            f"directory={quote(settings.directory)}",
            f"{_RECORD}exec env -i \\",
            *lines,
            f"  {quote(command.argv[-1])}",
            "",
        ]
    )


def unit_file(settings: UnitSettings) -> str:
    """The systemd unit. It starts the same command file that a plain process group would."""
    return _environment().get_template("bringup.service.j2").render(s=settings)


def systemd_quote(text: str) -> str:
    """Quote `text` as one word of a systemd command line, so that systemd expands nothing in it.

    Raises `ValueError` for control characters, which no path of ours holds and unit files cannot carry safely.
    """
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ValueError("a control character cannot be written to a unit file")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def systemd_path(text: str) -> str:
    """Write `text` as a path setting (no quotes there): only the specifier character is special."""
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ValueError("a control character cannot be written to a unit file")
    return text.replace("%", "%%")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  (only a deploy needs it)

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  (unit files are not HTML; `word` and `path` quote for systemd)
    )
    environment.filters |= {"word": systemd_quote, "path": systemd_path}
    return environment
