"""Jobs as a host lists them: whose they are, what they do, and whether they still do it. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playbooks.jobs import LOST, SAYS

if TYPE_CHECKING:
    from playbooks.lock import Owner


@dataclass(frozen=True, slots=True)
class Job:
    """A job to be started: its id, the state dir of its host, and what `about` says of it."""

    id: str
    state_dir: str
    about: str

    @property
    def output(self) -> str:
        return f"{self.state_dir}/jobs/{self.id}/output"


@dataclass(frozen=True, slots=True)
class ListedJob:
    """`state`: running, ended or lost (its process went without an exit record). Times are Unix seconds, the host's.

    `user`, `control` and `why` are empty for a job of a version that did not say; so is `changes`.
    """

    host: str
    id: str
    state: str
    exit_status: int | None
    began: int
    ended: int | None
    user: str = ""
    control: str = ""
    why: str = ""
    phase: str = ""
    changes: tuple[str, ...] = ()
    ended_ago_s: int | None = None  # when it was listed, by the host's own clock


def about(owner: Owner | None, phase: str, changes: Sequence[str]) -> str:
    """One line of JSON for the job's folder. `phase`: of a plan, or a word of its own; `changes`: what each does."""
    said = {"user": owner.user, "control": owner.control, "why": owner.why} if owner else {}
    return json.dumps({**said, "phase": phase, "changes": list(changes)})


def read_jobs(host: str, answer: str) -> tuple[ListedJob, ...]:
    """Read the answer of `listed_jobs_script`, the latest job last; lines that are none are left out."""
    lines = (line.split("\t") for line in answer.splitlines())
    found = [_job(host, *line) for line in lines if len(line) == 7 and line[3].isdecimal() and line[5].isdecimal()]
    return tuple(sorted(found, key=lambda job: job.began))


def _job(host: str, name: str, state: str, status: str, *more: str) -> ListedJob:
    began, ended, now, said = more
    details = read_about(said)
    return ListedJob(
        host=host,
        id=name,
        state=state,
        exit_status=int(status) if status.isdecimal() else None,
        began=int(began),
        ended=int(ended) if ended.isdecimal() else None,
        user=str(details.get("user", "")),
        control=str(details.get("control", "")),
        why=str(details.get("why", "")),
        phase=str(details.get("phase", "")),
        changes=tuple(map(str, details.get("changes", ()))),
        ended_ago_s=int(now) - int(ended) if ended.isdecimal() else None,
    )


def read_about(line: str) -> Mapping[str, Any]:
    """What a job says of itself; empty where it is no JSON of ours."""
    try:
        details = json.loads(line)
    except ValueError:
        return {}
    good = isinstance(details, dict) and isinstance(details.get("changes", []), list)
    return details if good else {}


class Follower:
    """Turns the events of a job of an earlier run into lines for the operator."""

    def __init__(self, changes: Sequence[str], told: Callable[[str], None]) -> None:
        self._changes = changes
        self._told = told
        self._rest = b""
        self._begun = ""

    def feed(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._line(*line.decode(errors="replace").partition("\t")[::2])

    def _line(self, name: str, rest: str) -> None:
        index, _, detail = rest.partition("\t")
        if index.isdecimal() and int(index) < len(self._changes):
            self._begun = self._changes[int(index)]
            if name != "begin":
                self._told(f"{self._begun}: {name}")
        elif name == SAYS:
            self._told(f"{self._begun}: {detail}".removeprefix(": "))
        elif name == LOST:
            self._told("its process has gone without a record")
