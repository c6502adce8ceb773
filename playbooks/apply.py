"""Carry out a plan: the only place that runs a change's script.

Phases are barriers. In each, every host runs one script as a detached job and streams its events back; a change that
drifted, failed or did not converge ends the apply behind that phase, with every such host in the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from inventory.errors import BringupError, ChangeFailed, HostUnreachable
from playbooks.joblist import Follower, Job, about, read_jobs
from playbooks.jobs import LOST, SAYS, follow_script, listed_jobs_script, start_script
from playbooks.phase_script import Event, phase_script
from playbooks.plan import Change, Phase, Plan, refusal_of
from playbooks.ship.supply import supplied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inventory.fleet import Fleet
    from inventory.transport.base import Completed, Transport
    from playbooks.lock import Owner


class Progress(Protocol):
    """Who is told how an apply goes on, from several threads."""

    def event(self, change: Change, event: Event) -> None:
        """A change began or ended."""

    def says(self, change: Change, line: str) -> None:
        """The last line that a long change has printed."""


FOLLOW_SLACK_S = 30.0


def apply(
    plan: Plan,
    fleet: Fleet,
    *,
    run: str,
    state_dirs: Mapping[str, str],
    progress: Progress,
    phases: Sequence[Phase] = tuple(Phase),
    owner: Owner | None = None,
) -> None:
    """Make the changes of `plan`, phase by phase. Raises `ChangeFailed` or `HostUnreachable`, or several.

    `owner`: who is told by the jobs that this starts.
    """
    for phase in phases:
        hosts = tuple(host for host in plan.hosts if plan.of(host, phase))
        if not hosts:
            continue

        def one(transport: Transport, phase: Phase = phase) -> None:
            changes = plan.of(transport.host, phase)
            said = about(owner, phase, [change.summary for change in changes])
            job = Job(f"{run}-{phase}", state_dirs[transport.host], said)
            _apply_on(transport, changes, job, progress)

        with supplied([change for host in hosts for change in plan.of(host, phase)], fleet, progress.says):
            fleet.all(one, hosts)


def finish_running_jobs(
    transport: Transport, *, state_dir: str, told: Callable[[str], None], within_s: float = 0.0
) -> int:
    """Follow jobs that an earlier run left running on this host to their ends, and count them.

    `told` hears how each goes on; what they did is seen by the next probe. Jobs that ended within the last `within_s`
    count too: they may have changed what was looked at in this time.
    """
    listed = transport.run(listed_jobs_script(state_dir=state_dir), timeout=20)
    jobs = read_jobs(transport.host, listed.text)
    running = [job for job in jobs if job.state == "running"]
    lately = [job for job in jobs if job.ended_ago_s is not None and job.ended_ago_s <= within_s]
    for job in running:
        whose = f" of {job.user}@{job.control}" if job.user else ""
        told(f"job {job.id}{whose} still goes on: following it")
        follower = Follower(job.changes, told)
        transport.run(follow_script(job.id, state_dir=state_dir), timeout=24 * 3600, on_stdout=follower.feed)
    return len(running) + len(lately)


def _apply_on(transport: Transport, changes: Sequence[Change], job: Job, progress: Progress) -> None:
    reader = _EventReader(changes, progress)
    completed = transport.run(
        start_script(job.id, phase_script(changes), state_dir=job.state_dir, about=job.about),
        timeout=sum(change.deadline_s + 10 for change in changes) + FOLLOW_SLACK_S,
        on_stdout=reader.feed,
    )
    reader.raise_if_failed(transport.host, completed, job.output)


class _EventReader:
    """Turns the event lines of a job into progress, and keeps the one that ended it."""

    def __init__(self, changes: Sequence[Change], progress: Progress) -> None:
        self._changes = changes
        self._progress = progress
        self._rest = b""
        self._ended: tuple[Event, Change, str] | None = None
        self._done = 0
        self._lost = False
        self._begun: Change | None = None

    def feed(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._line(line.decode(errors="replace"))

    def _line(self, line: str) -> None:
        name, _, rest = line.partition("\t")
        index, _, detail = rest.partition("\t")
        if name == LOST:
            self._lost = True
        elif name == SAYS:
            self._progress.says(self._begun or self._changes[0], detail)
        elif name in Event.__members__.values() and index.isdecimal() and int(index) < len(self._changes):
            event, change = Event(name), self._changes[int(index)]
            self._begun = change
            self._done += event is Event.DONE
            if event not in {Event.BEGIN, Event.DONE}:
                self._ended = (event, change, detail)
            self._progress.event(change, event)

    def raise_if_failed(self, host: str, completed: Completed, output: str) -> None:
        if self._ended:
            raise _failure(host, self._ended, completed.stderr.decode(errors="replace"), output)
        if self._lost or completed.exit_status in {124, 137}:
            raise HostUnreachable(
                "the job on the host ended without a record" if self._lost else "the job did not end in time",
                id="job-lost",
                observed=f"{self._done} of {len(self._changes)} changes reported done\n    {_last(completed)}".rstrip(),
                required="an exit record",
                next_command="type the same command again: it looks at the host and goes on",
                host=host,
            )
        if completed.exit_status != 0 or self._done != len(self._changes):
            raise ChangeFailed(
                "the job could not be run",
                id="job-failed",
                observed=_last(completed) or f"exit status {completed.exit_status}",
                required=f"{len(self._changes)} changes reported done",
                next_command=f"look at {output} on {host}",
                host=host,
            )


def _last(completed: Completed) -> str:
    return completed.stderr.decode(errors="replace").strip()[-400:].replace("\n", "\n    ")


def _failure(host: str, ended: tuple[Event, Change, str], last_output: str, output: str) -> BringupError:
    event, change, detail = ended
    if event is Event.DRIFT:
        return ChangeFailed(
            f"{change.id} is not as it was when the plan was made; nothing of it was changed",
            id="drift",
            observed=detail,
            required=change.before,
            next_command="type the same command again: it plans from what is there now",
            host=host,
        )
    if event is Event.UNCONVERGED:
        return ChangeFailed(
            f"{change.id} was changed but is not as wanted",
            id="not-converged",
            observed=detail,
            required=change.after,
            next_command=f"look at {output} on {host}",
            host=host,
        )
    status, _, named = detail.partition(" ")
    refusal, what = refusal_of(named, change.refusals)
    if refusal:
        return refusal.error(ChangeFailed, host, what)
    reason = "it ran out of time" if status in {"124", "137"} else f"exit status {status}"
    return ChangeFailed(
        f"{change.summary}: {reason}",
        id="change-failed",
        observed="\n    ".join(last_output.strip().splitlines()[-12:]) or "no output",
        required="exit status 0",
        next_command=f"look at {output} on {host}",
        host=host,
    )
