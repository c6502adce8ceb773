"""Steps, changes and the plan: pure. A step says what must be true; a change says exactly how one host gets there.

A step's `probe` prints the state of its subject as one line. The same text is run three times: to plan, before the
change (a state other than `before` is drift) and after it (a state other than `after` has not converged).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from inventory.errors import CheckFailed
from playbooks.finding import Finding

FORMAT_VERSION = 1
ABSENT = "absent"
UNREADABLE = "unreadable"


class Action(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    RUN = "run"
    START = "start"
    STOP = "stop"


class Phase(StrEnum):
    """Barriers of an apply, in order: no host begins a phase before all have ended the one before."""

    PROVISION = "provision"
    PREFETCH = "prefetch"
    STAGE = "stage"
    STOP = "stop"
    START = "start"


@dataclass(frozen=True, slots=True)
class Step:
    """What must be true on a host. `wanted` is what `probe` prints then; `script` makes it so (POSIX sh)."""

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


@dataclass(frozen=True, slots=True)
class Change:
    """One exact change on one host: everything that apply needs, nothing that it has to decide."""

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

    Raises `CheckFailed` when a state could not be read: a change to something unseen is not planned.
    """
    return tuple(change for step in steps if (change := _change(host, step, states[step.id])))


def _change(host: str, step: Step, state: str) -> Change | None:
    if state == step.wanted:
        return None
    if state.startswith(UNREADABLE):
        raise CheckFailed(
            f"the state of {step.id} cannot be read",
            id="state-unreadable",
            observed=state,
            required="one line that says what is there",
            next_command=f"invoke probe --hosts {host}",
            host=host,
        )
    action = step.action or (Action.CREATE if state == ABSENT else Action.UPDATE)
    return Change(
        id=step.id,
        host=host,
        phase=step.phase,
        action=action,
        summary=step.summary,
        why=step.why,
        probe=step.probe,
        before=state,
        after=step.wanted,
        script=step.script,
        sudo=step.sudo,
        deadline_s=step.deadline_s,
    )
