"""Steps, changes and the plan: pure. A step says what must be true; a change says exactly how one host gets there.

A step's `probe` prints the state of its subject as one line. The same text is run three times: to plan, before the
change (a state other than `before` is drift) and after it (a state other than `after` has not converged).

Two kinds of state are never planned over: `unreadable: why`, and `refused ID detail`, where the step's own refusals say
what ID means. A script names its failure in the same words, by the last line `outcome TAB ID detail` that it prints.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from inventory.errors import BringupError, CheckFailed, raise_all
from playbooks.cargo import Cargo
from playbooks.finding import Finding

FORMAT_VERSION = 1
ABSENT = "absent"
UNREADABLE = "unreadable"
REFUSED = "refused"


class Action(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    RUN = "run"
    REBOOT = "reboot"
    START = "start"
    STOP = "stop"


class Phase(StrEnum):
    """Barriers of an apply, in order: no host begins a phase before all have ended the one before."""

    PREPARE = "prepare"
    INSTALL = "install"
    CONFIGURE = "configure"
    REBOOT = "reboot"
    SERVICES = "services"
    PROVISION = "provision"
    PREFETCH = "prefetch"
    STAGE = "stage"
    STOP = "stop"
    START = "start"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a bad state of a host means, and what to do about it; `id` is the runbook's name."""

    id: str
    message: str
    required: str
    next_command: str

    def error(self, of: type[BringupError], host: str, detail: str) -> BringupError:
        return of(
            self.message,
            id=self.id,
            observed=detail or self.message,
            required=self.required,
            next_command=self.next_command.replace("HOST", host),
            host=host,
        )


@dataclass(frozen=True, slots=True)
class FileContent:
    """What a file will hold, for `--diff`; None: the file will not be there. `secret`: never shown."""

    path: str
    text: str | None
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What must be true on a host. `wanted` is what `probe` prints then; `script` makes it so (POSIX sh).

    `follows`: ids of steps whose change may change this one's state too. `satisfies`: ids of checks.
    """

    id: str
    phase: Phase
    why: str
    probe: str
    wanted: str
    script: str
    summary: str
    action: Action | None = None  # None: create where absent, else update
    sudo: bool = False
    deadline_s: float = 60.0
    probe_sudo: bool = False  # what it looks at is root's alone
    refusals: tuple[Refusal, ...] = ()
    follows: tuple[str, ...] = ()
    satisfies: tuple[str, ...] = ()
    content: FileContent | None = None
    cargo: Cargo | None = None  # what the control machine gives to it before it is run


@dataclass(frozen=True, slots=True)
class Change:
    """One exact change on one host: everything that apply needs, nothing that it has to decide.

    `depends_on`: changes of this plan that may change the state of this one. Whatever they leave is then no drift, and
    where it is as wanted already, nothing is run.
    """

    id: str
    host: str
    phase: Phase
    action: Action
    summary: str
    why: str
    probe: str
    before: str
    after: str
    script: str
    sudo: bool
    deadline_s: float
    probe_sudo: bool = False
    refusals: tuple[Refusal, ...] = ()
    depends_on: tuple[str, ...] = ()
    satisfies: tuple[str, ...] = ()
    content: FileContent | None = None
    cargo: Cargo | None = None  # what the control machine gives to it before it is run


@dataclass(frozen=True, slots=True)
class Plan:
    """What a deploy will do, to the letter. Written and read by pydantic's TypeAdapter."""

    format_version: int
    deployment: str
    generation: str
    inputs_digest: str
    hosts: tuple[str, ...]
    findings: tuple[Finding, ...]
    changes: tuple[Change, ...]

    @property
    def empty(self) -> bool:
        return not self.changes

    def of(self, host: str, phase: Phase) -> tuple[Change, ...]:
        return tuple(c for c in self.changes if c.host == host and c.phase == phase)


def digest(value: object) -> str:
    """Digest JSON-like `value` to 12 hex characters, the same in every process and on every machine."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def changes_for(host: str, steps: Iterable[Step], states: Mapping[str, str]) -> tuple[Change, ...]:
    """Compare each step with the state that its probe printed on `host`.

    Raises `CheckFailed` for what could not be read and for what a step refuses: a change to it is not planned.
    """
    changes: dict[str, Change] = {}
    errors: list[BringupError] = []
    for step in steps:
        depends_on = tuple(name for name in step.follows if name in changes)
        try:
            change = _change(host, step, states[step.id], depends_on)
        except BringupError as error:
            errors.append(error)
        else:
            changes |= {step.id: change} if change else {}
    raise_all(errors)
    return tuple(changes.values())


def refusal_of(named: str, refusals: Iterable[Refusal]) -> tuple[Refusal | None, str]:
    """What `ID detail` stands for among `refusals`, and the detail."""
    name, _, detail = named.partition(" ")
    return next((one for one in refusals if one.id == name), None), detail


def _change(host: str, step: Step, state: str, depends_on: tuple[str, ...]) -> Change | None:
    if not depends_on:
        if state == step.wanted:
            return None
        _refuse(host, step, state)
    return Change(
        id=step.id,
        host=host,
        phase=step.phase,
        action=step.action or (Action.CREATE if state == ABSENT else Action.UPDATE),
        summary=step.summary,
        why=step.why,
        probe=step.probe,
        before=state,
        after=step.wanted,
        script=step.script,
        sudo=step.sudo,
        deadline_s=step.deadline_s,
        probe_sudo=step.probe_sudo,
        refusals=step.refusals,
        depends_on=depends_on,
        satisfies=step.satisfies,
        content=step.content,
        cargo=step.cargo,
    )


def _refuse(host: str, step: Step, state: str) -> None:
    """Raise for a state that nobody should plan over."""
    refusal, detail = refusal_of(state.removeprefix(f"{REFUSED} "), step.refusals)
    if state.startswith(REFUSED) and refusal:
        raise refusal.error(CheckFailed, host, detail)
    if state.startswith((UNREADABLE, REFUSED)):
        raise CheckFailed(
            f"the state of {step.id} cannot be read",
            id="state-unreadable",
            observed=state,
            required="one line that says what is there",
            next_command=f"invoke probe --hosts {host}",
            host=host,
        )
