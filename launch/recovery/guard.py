"""The files of a guard on one host: who belongs to the group, what they know each other by, what it runs. Pure."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.quoting import quote, quote_all
from inventory.recorded import on_record
from launch.building.generation import SYSTEMD
from launch.building.unit import systemd_path, systemd_quote
from launch.request import refused
from launch.running.supervise import STOP_GRACE_S, preamble
from playbooks.plan import ABSENT, Action, Phase, Refusal, Step
from playbooks.steps.file import file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from launch.building.generation import Generation, Member
    from launch.planned.api_key import ApiKey
    from playbooks.layout import Layout

PROGRAMS = Path(__file__).parents[1] / "programs"
WHY = "the guard of a group acts by the product's own functions, and knows its members by a key"
RUN, FROM = "guard-run.sh", "guard-from"
FILES = ("guard.json", "guard.key", "guard.sh", "guard.py", "complete.py", "guard.service", FROM, RUN)
MODES = {"guard.json": "0600", "guard.key": "0600", RUN: "0755"}
DIGITS = 12
RECOVERS = Refusal(
    id="guard-recovers",
    message="the guard is in the middle of a recovery of the group; nothing was changed",
    required="a guard that has ended what it began",
    next_command="the same command again, when the group serves: invoke status tells",
)
EVERY_S = 10.0
CANARY_S = 20.0
WINDOW_S = 3600.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Supervision:
    """What was asked for. `alert`: the words of the operator's command; none: alerts stay in the guard's log."""

    key: ApiKey
    alert: tuple[str, ...] = ()
    every_s: float = EVERY_S


def alert_words(value: str) -> tuple[str, ...]:
    """The command as words, as a shell would split it; it is run without one."""
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise refused("alert", value, f"a command with its quotes closed ({error})") from None


def guard_steps(wanted: Supervision, gang: Generation, host: str, layout: Layout, user: str) -> tuple[Step, ...]:
    """The files of one host; they lie in the folder of the generation, and the guard is started from them."""
    folder = layout.generation(gang.name, gang.generation)
    return tuple(
        file(f"{folder}/{name}", text, mode=MODES.get(name, "0644"), why=WHY, phase=Phase.STAGE)
        for name, text in _texts(wanted, gang, host, layout, user).items()
    )


def guard_step(wanted: Supervision | None, gang: Generation, host: str, layout: Layout, user: str) -> Step:
    """That the guard of a group that runs is the one of these files, or that there is none: its ranks go on.

    A group that is started starts its guard with it.
    """
    name, generation = gang.name, gang.generation
    state, script = ABSENT, f"remove_guard {quote_all([name, generation, *FILES])}"
    follows: tuple[str, ...] = ()
    if wanted:
        texts = _texts(wanted, gang, host, layout, user)
        state, script = f"running {_digest(texts.values())}", f"renew_guard {quote_all([name, gang.guard_port])}"
        follows = tuple(f"file {layout.generation(name, generation)}/{one}" for one in texts)
    functions = preamble(layout.state_dir)
    return Step(
        id=f"guard {name}",
        phase=Phase.STAGE,
        why="a guard acts as it was told last" if wanted else "a guard was not asked for: --supervise leaves one",
        probe=f"{functions}\nguard_state {quote_all([name, generation, state])}",
        wanted=state,
        script=f"{functions}\n{script}\n",
        summary=f"start the guard of {name} from these files; the ranks go on"
        if wanted
        else f"end the guard of {name} and remove its files; the ranks go on",
        action=None if wanted else Action.DELETE,
        refusals=(RECOVERS,),
        follows=follows,
    )


def _texts(wanted: Supervision, gang: Generation, host: str, layout: Layout, user: str) -> dict[str, str]:
    """What each file holds, in the order of FILES, in which `_run` reads them."""
    member, folder = gang.of(host), layout.generation(gang.name, gang.generation)
    texts = {
        "guard.json": _told(wanted, gang, host, layout),
        "guard.key": wanted.key.secret.reveal(),
        "guard.sh": _script(gang, layout),
        "guard.py": _program("guard.py"),
        "complete.py": _program("complete.py"),
    }
    if member.supervisor == SYSTEMD:
        texts["guard.service"] = _unit(gang, folder, user)
    return texts | {RUN: _run(member, folder, [*texts, RUN])}


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:DIGITS]


def _told(wanted: Supervision, gang: Generation, host: str, layout: Layout) -> str:
    folder = layout.generation(gang.name, gang.generation)
    document = {
        "name": gang.name,
        "generation": gang.generation,
        "host": host,
        "head": host == gang.hosts[0],
        "port": gang.guard_port,
        "members": [{"host": one.host, "address": one.address} for one in gang.members],
        "endpoints": [
            {"urls": ",".join(one.urls), "ranks": max(1, gang.behind(one))} for one in gang.members if one.url
        ],
        "model": gang.served_name,
        "prompt": gang.prompt,
        "max_tokens": gang.max_tokens,
        "key_file": gang.key_file(folder),
        "alert": list(wanted.alert),
        "lock": f"{layout.state_dir}/lock",
        "every_s": wanted.every_s,
        "canary_s": CANARY_S,
        "window_s": WINDOW_S,
        "ready_s": 3600.0,
    }
    return json.dumps(document, indent=1) + "\n"


def _script(gang: Generation, layout: Layout) -> str:
    ports = " ".join(map(str, gang.ports))
    settings = f"name={quote(gang.name)}\nports={quote(ports)}\ngrace_s={gang.drain_s + STOP_GRACE_S:d}\n"
    return f"{preamble(layout.state_dir)}\n{settings}{_program('guard.sh')}"


def _run(member: Member, folder: str, names: Sequence[str]) -> str:
    """What becomes the guard: tells what it is made of, and its pid, start time and boot as ranks do."""
    return (
        "#!/bin/sh\n"
        f"directory={quote(folder)}\n"
        f'(cd "$directory" && cat {quote_all(names)}) | sha256sum | cut -c 1-{DIGITS} >"$directory/{FROM}"\n'
        f"{on_record('$directory/guard-record')}"
        f"exec env -i PATH={quote(_PATH)} LC_ALL=C {quote(member.python)} -B"
        ' "$directory/guard.py" "$directory"\n'
    )


def _unit(gang: Generation, folder: str, user: str) -> str:
    return (
        "[Unit]\n"
        f"Description=bringup guard of {systemd_path(gang.name)}\n"
        "After=network-online.target\nWants=network-online.target\n\n"
        "[Service]\nType=exec\n"
        f"User={systemd_path(user)}\n"
        f"ExecStart=/bin/sh {systemd_quote(f'{folder}/guard-run.sh')}\n"
        "Restart=on-failure\nRestartSec=5\nMemoryMax=512M\nTasksMax=512\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )


@cache
def _program(name: str) -> str:
    return (PROGRAMS / name).read_text(encoding="utf-8")
