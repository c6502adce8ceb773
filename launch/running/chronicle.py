"""Who did what with a deployment, when, and what was different: from what its hosts remember, and from nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.names import is_secret
from inventory.quoting import quote
from inventory.secret import HIDDEN
from inventory.transport.exchange import in_time
from launch.running.history import Entry, History, read_history, united
from launch.running.supervise import preamble

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.console.tables import Table
    from launch.running.survey import Deployment

DEADLINE_S = 20.0
MOST_CHANGES = 6
_AUDIT = re.compile(r"(?P<at>\S+Z) (?P<who>\S+) run (?P<run>[0-9a-f]+) (?P<why>.*): (?P<outcome>[\w.-]+)")
_OPTION = re.compile(r"  (?P<words>\S.*?) ?\\?")
_NOT_TOLD = re.compile(r"'?(?:BRINGUP_DEPLOYMENT)=")


@dataclass(frozen=True, slots=True)
class Event:
    """`changed`: lines of the command that came (+) and went (-) with this generation. `hosts` that remember it."""

    at: str
    who: str
    verb: str
    generation: str
    outcome: str
    ready_s: float | None
    warm: bool | None
    note: str
    changed: tuple[str, ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What one host remembers: its history, the audit log of the whole host, and stored commands by generation."""

    history: History
    audit: tuple[str, ...]
    commands: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Chronicle:
    events: tuple[Event, ...]
    errors: Mapping[str, BringupError]


def script(name: str, *, state_dir: str) -> str:
    quoted = quote(name)
    return (
        f"{preamble(state_dir)}\ntell_history {quoted}\n"
        "printf '== audit\\n'; tail -n 400 \"$state_dir/audit.log\" 2>/dev/null\n"
        f'for folder in "$state_dir/deployments/"{quoted}/*/; do\n'
        '  [ -L "${folder%/}" ] || [ ! -f "$folder/command.sh" ] || {\n'
        '    folder=${folder%/}; printf "== command %s\\n" "${folder##*/}"; head -c 65536 "$folder/command.sh"; }\n'
        "done\n"
    )


def read(answer: str) -> Remembered:
    """Read the answer of `script`."""
    told, *parts = re.split(r"(?m)^== (?=audit$|command )", answer)
    named = {head: body for head, _, body in (part.partition("\n") for part in parts)}
    commands = {head.removeprefix("command "): body for head, body in named.items() if head.startswith("command ")}
    return Remembered(read_history(told), tuple(named.get("audit", "").splitlines()), commands)


def ask(fleet: Fleet, deployment: Deployment) -> Chronicle:
    """Ask the hosts that answered; those that do not are errors beside what the others remember."""
    name = deployment.gang.name

    def one(transport: Transport) -> Remembered:
        text = script(name, state_dir=fleet.state_dirs[transport.host])
        return read(in_time(transport.run(text, timeout=DEADLINE_S), transport.host).text)

    hosts = [host for host in deployment.gang.hosts if host not in deployment.unanswered]
    told = fleet.each(one, hosts)
    remembered = {host: one for host, one in told.items() if not isinstance(one, BringupError)}
    errors = {host: one for host, one in told.items() if isinstance(one, BringupError)}
    return Chronicle(events(name, remembered), {**deployment.unanswered, **errors})


def events(name: str, remembered: Mapping[str, Remembered]) -> tuple[Event, ...]:
    """Everything that was done with `name`, the newest first."""
    entries = united({host: one.history for host, one in remembered.items()})
    known = {entry.run for entry in entries}
    audited = {
        found["run"]: found
        for one in remembered.values()
        for line in one.audit
        if (found := _AUDIT.fullmatch(line)) and found["run"] not in known and _concerns(found["why"], name)
    }
    commands = next((one.commands for one in remembered.values()), {})
    done = [_event(entry, _before(entries, at), commands, remembered) for at, entry in enumerate(entries)]
    done += [_audited(one, remembered) for one in audited.values()]
    return tuple(sorted(done, key=lambda one: one.at, reverse=True))


def _concerns(why: str, name: str) -> bool:
    """A line of the audit log about this deployment, or about the host as a whole."""
    words = re.split(r"[ ;]", why)
    return name in words or words[0] in {"install", "unlock"}


def _before(entries: Sequence[Entry], at: int) -> str:
    """The generation that was current before the entry number `at`."""
    return next((one.generation for one in reversed(entries[:at]) if one.verb != "stop"), "")


def _event(entry: Entry, before: str, commands: Mapping[str, str], remembered: Mapping[str, Remembered]) -> Event:
    changed: tuple[str, ...] = ()
    if before and before != entry.generation:
        changed = differences(commands.get(before, ""), commands.get(entry.generation, ""))
    hosts = tuple(
        host for host, one in remembered.items() if any(each.run == entry.run for each in one.history.entries)
    )
    return Event(
        entry.at,
        entry.who,
        entry.verb,
        entry.generation,
        entry.outcome,
        entry.ready_s,
        entry.warm,
        entry.note,
        changed,
        hosts,
    )


def _audited(found: re.Match[str], remembered: Mapping[str, Remembered]) -> Event:
    verb, _, rest = found["why"].partition(" ")
    hosts = tuple(
        host for host, one in remembered.items() if any(f" run {found['run']} " in line for line in one.audit)
    )
    return Event(found["at"], found["who"], verb, "", found["outcome"], None, None, rest, (), hosts)


def differences(before: str, after: str) -> tuple[str, ...]:
    """What a command has that the other had not, option by option; nothing when one of them is not stored any more."""
    if not before or not after:
        return ()
    old, new = (list(dict.fromkeys(options_of(text))) for text in (before, after))
    return (*(f"- {one}" for one in old if one not in new), *(f"+ {one}" for one in new if one not in old))


def options_of(command: str) -> Iterable[str]:
    """The lines of a stored command that say something of what runs: one option or variable each, no secret's value."""
    for line in command.splitlines():
        match = _OPTION.fullmatch(line)
        if match and not _NOT_TOLD.match(match["words"]):
            yield _without_secret(match["words"])


def _without_secret(words: str) -> str:
    name, equals, _ = words.strip("'").partition("=")
    return f"{name}={HIDDEN}" if equals and is_secret(name) else words


def rows(told: Sequence[Event]) -> Table:
    """The table: a line for each thing that was done, the newest first."""
    return (
        ("when", "who", "what", "generation", "outcome", "ready", "changed"),
        [
            (
                one.at,
                one.who,
                f"{one.verb} {one.note}".strip(),
                one.generation,
                one.outcome,
                _ready(one),
                _shortened(one.changed),
            )
            for one in told
        ],
    )


def _ready(one: Event) -> str:
    if one.ready_s is None:
        return ""
    return f"{one.ready_s:.0f} s" + ({True: " warm", False: " cold"}.get(one.warm, "") if one.warm is not None else "")


def _shortened(changed: Sequence[str]) -> str:
    more = f"; and {len(changed) - MOST_CHANGES} more" if len(changed) > MOST_CHANGES else ""
    return "; ".join(changed[:MOST_CHANGES]) + more
