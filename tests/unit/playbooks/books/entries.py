"""Entries of playbooks as tests make them: from the same data that YAML gives."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from playbooks.entry import At, Entry
from playbooks.kinds import AnyEntry
from playbooks.plan import Change, Step, changes_for
from playbooks.probes import probe_script, read_states
from tests.unit.playbooks.sh import sh

AT = At(playbook="book", state_dir="/var/lib/bringup")
HOSTILE = "a b'c\"d$HOME`id`;é\n*\\"


def entry(kind: str, **fields: Any) -> Entry:  # noqa: ANN401  (those of the kind)
    adapter: TypeAdapter[Entry] = TypeAdapter(AnyEntry)
    return adapter.validate_python({"id": "one", "why": "a test", "kind": kind, **fields})


def step(kind: str, **fields: Any) -> Step:  # noqa: ANN401
    return entry(kind, **fields).step(AT)


def states(*steps: Step) -> dict[str, str]:
    done = sh(probe_script(steps))
    return read_states(steps, done.stdout)


def planned(*steps: Step) -> tuple[Change, ...]:
    return changes_for("h", steps, states(*steps))
