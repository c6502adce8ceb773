"""The files of a generation on one host: the command, the systemd unit and the record of what they are. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.facts.cpulist import format_list
from inventory.quoting import quote, quote_all
from inventory.recorded import on_record
from launch.building.container import ContainerRun, container_name, run_words
from launch.planned.wanted import KEY_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from launch.building.command import HostCommand

TEMPLATES = Path(__file__).parents[1] / "templates"
STOP_TIMEOUT_S = 60
"""So long after the drain a stop kills what is left of a unit."""
RESTART = "no"
"""A rank that comes back alone is never taken in again by its gang."""
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class UnitSettings:
    """What the unit of one host needs beside its command.

    `affinity`: CPUs; with `memory_nodes`, empty: nothing. `key_file`: holds the key that clients must send. `drain_s`:
    seconds that vLLM takes to end running requests when it is told to stop.
    """

    deployment: str
    generation: str
    directory: str  # of the generation, absolute
    user: str
    affinity: tuple[int, ...] = ()
    memory_nodes: tuple[int, ...] = ()
    key_file: str | None = None
    container: ContainerRun | None = None
    drain_s: int = 0

    @property
    def container_name(self) -> str:
        return container_name(self.deployment)


# The key comes from the file into the environment by the shell itself: no process has it among its words.
_WITH_KEY = f'{KEY_VARIABLE}=$(cat "$0") && export {KEY_VARIABLE} && exec "$@"'
# The engine keeps the pid of the shell that becomes it.
_ON_RECORD = on_record("$directory/record")


def command_file(command: HostCommand, settings: UnitSettings) -> str:
    """The shell script that becomes the engine: a clean, explicit environment and one argv, nothing inherited."""
    if settings.container:
        return _container_file(command, settings, settings.container)
    env = (*command.env, ("BRINGUP_DEPLOYMENT", settings.directory))
    lines = [quote(f"{key}={value}") for key, value in env]
    if settings.key_file:
        lines.append(quote_all(["/bin/sh", "-c", _WITH_KEY, settings.key_file]))
    lines += [quote_all(words) for words in by_option(command.argv)]
    return "\n".join(
        [
            "#!/bin/sh",
            f"# {settings.deployment}, generation {settings.generation}, on {command.host}: written by bringup.",
            f"directory={quote(settings.directory)}",
            f"{_ON_RECORD}exec env -i \\",
            " \\\n".join(f"  {line}" for line in lines),
            "",
        ]
    )


def _container_file(command: HostCommand, settings: UnitSettings, run: ContainerRun) -> str:
    """The same for an image: the script becomes `docker run`, which hands signals to the engine and ends with it.

    A container of that name that a crash of docker left is removed first: it would keep GPUs and ports.
    """
    lines = [quote(f"PATH={SYSTEM_PATH}"), '"HOME=${HOME:-/}"', quote(f"BRINGUP_DEPLOYMENT={settings.directory}")]
    if settings.key_file:
        lines.append(quote_all(["/bin/sh", "-c", _WITH_KEY, settings.key_file]))
    lines += [quote_all(words) for words in by_option(run_words(run, command, settings.deployment, settings.directory))]
    return "\n".join(
        [
            "#!/bin/sh",
            f"# {settings.deployment}, generation {settings.generation}, on {command.host}: written by bringup.",
            f"directory={quote(settings.directory)}",
            f"{run.engine} rm --force {quote(settings.container_name)} >/dev/null 2>&1 || :",
            f"{_ON_RECORD}exec env -i \\",
            " \\\n".join(f"  {line}" for line in lines),
            "",
        ]
    )


def by_option(argv: Sequence[str]) -> list[list[str]]:
    """Group the words so that an option and its values stand on one line."""
    groups = [list(argv[:3])]
    for word in argv[3:]:
        if word.startswith("-"):
            groups.append([])
        groups[-1].append(word)
    return groups


def unit_file(settings: UnitSettings) -> str:
    """The systemd unit. It starts the same command file that a plain process group would."""
    return (
        environment()
        .get_template("bringup.service.j2")
        .render(s=settings, stop_timeout_s=_stop_timeout_s(settings), restart=RESTART)
    )


def _stop_timeout_s(settings: UnitSettings) -> int:
    """A container is killed by its engine first: systemd waits a little longer than that."""
    return settings.container.stop_timeout_s + 10 if settings.container else STOP_TIMEOUT_S + settings.drain_s


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
def environment() -> Environment:
    """Templates of unit files, with filters that quote for systemd."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  (unit files are not HTML; `word` and `path` quote for systemd)
    )
    made.filters |= {"word": systemd_quote, "path": systemd_path, "cpus": format_list}
    return made
