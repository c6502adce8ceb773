"""The one thing that is safe to do now, what it interrupts, how long it takes, and what is lost by doing it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.quoting import quote
from launch.running.history import SERVING, Entry, last_good
from launch.running.verdict import Health

if TYPE_CHECKING:
    from launch.running.hardware import Hardware
    from launch.running.survey import Deployment
    from launch.running.verdict import Verdict

STARTS = frozenset({"deploy", "restart", "rollback", "supervise"})


@dataclass(frozen=True, slots=True)
class NextStep:
    """`before`: what must be kept first, because it is lost by the command; empty: nothing is."""

    command: str
    interrupts: str
    takes: str
    before: str = ""

    def lines(self) -> tuple[str, ...]:
        first = (f"first: {self.before}",) if self.before else ()
        interrupts = f"it interrupts {self.interrupts}" if self.interrupts else ""
        told = "; ".join(part for part in (interrupts, self.takes) if part)
        return (*first, f"next: {self.command}", *((f"  {told}",) if told else ()))


def next_step(
    deployment: Deployment,
    verdict: Verdict,
    hardware: Hardware,
    history: Sequence[Entry],
    usual: Mapping[str, Entry],
) -> NextStep:
    """The verdict's command, unless what is known forbids it: broken hardware, or the same failure twice."""
    flags, gang = deployment.gang.flags, deployment.gang
    if verdict.health is Health.HEALTHY:
        return NextStep(verdict.next_command, "", "")
    capture = f"invoke diagnose {flags} --capture"
    if verdict.health is Health.STOPPED:
        return NextStep(verdict.next_command, "nothing: it is stopped", duration(usual))
    broken = [host for host in hardware.broken if host in gang.hosts]
    if broken and verdict.health is Health.DOWN:
        command = f"invoke hosts.check --hosts {quote(','.join(broken))}"
        return NextStep(command, "nothing: do not restart onto a broken host", "", capture)
    if verdict.health is Health.DOWN and failed_twice(history, gang.generation):
        good = last_good(history, besides=gang.generation)
        if good:
            command = f"invoke rollback {flags} --to {good.generation}"
            return NextStep(command, "the ranks that still run: all are stopped", duration(usual), capture)
    interrupts = {
        Health.DOWN: "the ranks that still run: all are stopped, and what they hold is lost",
        Health.DEGRADED: "all requests that run",
    }.get(verdict.health, "")
    restarts = verdict.next_command.startswith(("invoke restart", "invoke deploy"))
    if not restarts:
        return NextStep(verdict.next_command, "nothing", "")
    return NextStep(verdict.next_command, interrupts, duration(usual), capture)


def failed_twice(history: Sequence[Entry], generation: str) -> bool:
    """The last two starts of this generation failed: a third will, too."""
    last = [one for one in history if one.verb in STARTS and one.generation == generation][-2:]
    return len(last) == 2 and all(one.outcome != SERVING for one in last)


def duration(usual: Mapping[str, Entry]) -> str:
    """How long a start took before: cold and warm where both are known."""
    kinds = {"cold": " cold", "warm": " warm"}
    told = [f"{one.ready_s:.0f} s{kinds.get(kind, '')}" for kind, one in usual.items() if one.ready_s is not None]
    return f"the last start took {', '.join(told)}" if told else "how long a start takes is not known yet"
