"""Chaos: groups of stand-in engines over lab hosts, harmed at random while they start, run and stop.

    python -m tests.soak.chaos --hosts N --rounds R [--seed S] [--layout internal|hybrid]

A round starts the group, harms it at a random moment, asks `status`, stops it, heals what was harmed and stops it
again. Held against what this machine sees from outside: never a wrong "healthy", never "stopped" with something left,
no orphan, and no verb beyond its deadline. Simulated hosts and engines; the code that starts, judges and stops is the
product's own. Needs root, as every lab does.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from inventory.errors import BadInput, BringupError
from inventory.fleet import Fleet
from inventory.lab import faults, lifecycle
from launch.console.report import Report
from launch.running import operate
from launch.running import status as asking
from launch.running.verdict import Health
from tests.soak.chaos_gang import NAME, Gang, make

READY_S, SMOKE_S = 40.0, 8.0
STARTED_WITHIN_S = READY_S + SMOKE_S + 130.0
STATUS_WITHIN_S = 30.0
STOPPED_WITHIN_S = 150.0
SETTLE_S = 0.5
HARMS = (
    *("kill", "kill", "kill", "kill", "slow", "slow", "cut-fabric", "cut-fabric", "none"),
    *("freeze", "power", "cut-both"),  # each of these makes a round wait for a silent host, three times
)
MOMENTS = ("launch", "run", "run", "stop")


@dataclass
class Harm:
    """What was done to which host, and when; `lasting`: the group cannot serve any more before it is healed."""

    kind: str
    host: str
    at: float = 0.0
    words: str = ""

    @property
    def struck(self) -> bool:
        return bool(self.at)

    @property
    def lasting(self) -> bool:
        if self.kind == "kill":
            return bool(self.words)
        return self.kind in {"freeze", "power", "cut-both"}

    @property
    def silences(self) -> bool:
        """Whether the host cannot answer the control machine."""
        return self.kind in {"freeze", "power", "cut-both"}


@dataclass
class Tally:
    """What came of all rounds. `wrong`: what must never be, in words."""

    rounds: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def took(self, what: str, seconds: float, most: float) -> None:
        self.slowest[what] = max(self.slowest.get(what, 0.0), seconds)
        if seconds > most:
            self.wrong.append(f"round {self.rounds}: {what} took {seconds:.1f} s, at most {most:g} s")

    def __str__(self) -> str:
        slow = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in sorted(self.slowest.items()))
        seen = ", ".join(f"{what} {count}" for what, count in sorted(self.seen.items()))
        return f"{self.rounds} rounds: {len(self.wrong)} wrong; slowest: {slow}; seen: {seen}"


class Chaos:
    """Rounds on one gang. `dice` decides everything, so that a seed repeats a run as far as time lets it."""

    def __init__(self, gang: Gang, dice: random.Random, harms: tuple[str, ...] = HARMS) -> None:
        self.gang, self.dice, self.harms = gang, dice, harms
        self.tally = Tally()

    def fleet(self) -> Fleet:
        return Fleet([self.gang.inventory.resolve(host)[0] for host in self.gang.hosts])

    def round(self) -> None:
        self.tally.rounds += 1
        harm = Harm(self.dice.choice(self.harms), self.dice.choice(self.gang.hosts))
        moment = self.dice.choice(MOMENTS)
        self.tally.seen[f"{harm.kind} in {moment}"] += 1
        before = len(self.tally.wrong)
        self.launch(harm if moment == "launch" else None)
        if moment == "run":
            self.strike(harm)
        self.judge(harm)
        self.stop(harm, while_stopping=moment == "stop")
        self.heal(harm)
        self.prove_clean()
        for wrong in self.tally.wrong[before:]:
            sys.stdout.write(f"WRONG ({harm.kind} of {harm.host} [{harm.words}] in {moment}): {wrong}\n")
        sys.stdout.flush()

    def strike(self, harm: Harm) -> None:
        """Do the harm now."""
        lab, host = self.gang.lab.name, harm.host
        if harm.kind == "kill":
            harm.words = self.gang.kill_one(host, self.dice.random())
        elif harm.kind in {"freeze", "slow"}:
            faults.freeze(host, lab=lab)
        elif harm.kind == "power":
            faults.power_off(host, lab=lab)
        elif harm.kind.startswith("cut"):
            faults.cut(host, only="fabric" if harm.kind == "cut-fabric" else None, lab=lab)
        harm.at = time.monotonic()
        if harm.kind == "slow":  # it stands still for a moment only
            time.sleep(0.5 + self.dice.random())
            faults.thaw(host, lab=lab)
        time.sleep(SETTLE_S)

    def heal(self, harm: Harm) -> None:
        lab, host = self.gang.lab.name, harm.host
        if harm.kind in {"freeze", "slow"}:  # also one that did not come to its end: some processes stand still then
            faults.thaw(host, lab=lab)
        if not harm.struck:
            return
        if harm.kind == "power":
            faults.power_on(host, lab=lab)
        elif harm.kind.startswith("cut"):
            faults.heal(host, lab=lab)

    def launch(self, harm: Harm | None) -> None:
        """Start, watch and prove; with `harm` at a random moment of it. A failure stops the group, as a deploy does."""
        striking = self._later(harm, 2.5)
        began, proved = time.monotonic(), 0.0
        with self.fleet() as fleet:
            try:
                operate.start(fleet, self.gang.record)
                quiet = Report(quiet=True)
                ready = operate.watched_by(fleet, self.gang.record, quiet, timeout_s=READY_S)
                operate.take_stock(fleet, self.gang.record, ready, quiet)
                proved = time.monotonic()
                operate.smoke(fleet, self.gang.record, timeout_s=SMOKE_S)
                self.tally.seen["launches that served"] += 1
                if harm and harm.struck and harm.lasting and harm.at < proved:
                    self.wrong(f"a launch served although {harm.kind} struck {proved - harm.at:.1f} s before its proof")
            except BringupError as error:
                self.tally.seen[f"launch: {error.id}"] += 1
                if harm is None and error.id != "never-ready":  # a machine with much else to do may be too slow
                    self.wrong(f"an undisturbed launch failed: {error}")
                with suppress(BringupError):
                    operate.stop(fleet, self.gang.record, Report(quiet=True))
        striking()
        self.tally.took("launch", time.monotonic() - began, STARTED_WITHIN_S)

    def judge(self, harm: Harm) -> None:
        """Ask for the status: healthy only where everything is there; everything is there only where nothing struck."""
        began = time.monotonic()
        with self.fleet() as fleet:
            try:
                _, found = operate.find(fleet, self.gang.inventory, NAME, within_s=asking.SURVEY_S)
                health = asking.status(fleet, found).verdict.health
            except BringupError as error:
                self.tally.seen[f"status: {error.id}"] += 1
                health = Health.UNKNOWN
        self.tally.took("status", time.monotonic() - began, STATUS_WITHIN_S)
        self.tally.seen[f"status {health}"] += 1
        if health is Health.HEALTHY and harm.struck and harm.lasting:
            self.wrong(f"healthy after {harm.kind} of {harm.host}")
        if health is Health.STOPPED and any(self.gang.everything_left().values()):
            self.wrong(f"called stopped with {self.gang.everything_left()}")

    def stop(self, harm: Harm, *, while_stopping: bool) -> None:
        """Stop: it must not be called stopped while a host is silent or anything is left."""
        striking = self._later(harm, 1.0) if while_stopping else lambda: None
        began = time.monotonic()
        stopped = True
        with self.fleet() as fleet:
            try:
                operate.stop(fleet, self.gang.record, Report(quiet=True))
            except BringupError as error:
                stopped = False
                self.tally.seen[f"stop: {error.id}"] += 1
        ended = time.monotonic()
        striking()
        self.tally.took("stop", ended - began, STOPPED_WITHIN_S)
        left = self.gang.everything_left()
        if stopped and left:
            self.wrong(f"stopped with {left}")
        if stopped and harm.struck and harm.silences and harm.at < began:
            self.wrong(f"stopped although {harm.host} cannot have answered")

    def prove_clean(self) -> None:
        """With everything healed a stop must come through, and leave nothing."""
        began = time.monotonic()
        for last in (False, True):
            with self.fleet() as fleet:
                try:
                    operate.stop(fleet, self.gang.record, Report(quiet=True))
                    break
                except BringupError as error:
                    if last:
                        self.wrong(f"a healed group cannot be stopped: {error}")
                    time.sleep(2)
        self.tally.took("last stop", time.monotonic() - began, STOPPED_WITHIN_S)
        if left := self.gang.everything_left():
            self.wrong(f"orphans: {left}")

    def wrong(self, words: str) -> None:
        self.tally.wrong.append(f"round {self.tally.rounds}: {words}")

    def _later(self, harm: Harm | None, within_s: float) -> Callable[[], None]:
        """Do the harm at a random moment from now, beside what goes on; call what is returned to wait for it."""
        if harm is None:
            return lambda: None
        wait = self.dice.random() * within_s

        def strike() -> None:
            time.sleep(wait)
            with suppress(BringupError):
                self.strike(harm)

        thread = threading.Thread(target=strike, daemon=True)
        thread.start()
        return lambda: thread.join(60)


def run(
    hosts: int,
    rounds: int,
    *,
    seed: int,
    layout: str,
    until: float = float("inf"),
    harms: tuple[str, ...] = HARMS,
) -> Tally:
    """So many rounds on a lab of so many hosts, which is made and taken down here; fewer when `until` comes first."""
    name = f"chaos-{os.getpid()}-{hosts}"
    with tempfile.TemporaryDirectory(prefix="bringup-chaos-") as folder:
        try:
            chaos = Chaos(make(name, hosts, layout, Path(folder)), random.Random(seed), harms)  # noqa: S311  (dice)
            for _ in range(rounds):
                if time.time() > until:
                    break
                chaos.round()
                if chaos.tally.rounds % 10 == 0:
                    sys.stderr.write(f"{hosts} hosts, {layout}: {chaos.tally}\n")
        finally:
            with suppress(BadInput):
                lifecycle.down(name)
    return chaos.tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.chaos", description=__doc__)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--layout", choices=("internal", "hybrid"), default="internal")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so many, whatever rounds are left")
    asked = parser.parse_args()
    until = time.time() + 60 * asked.minutes if asked.minutes else float("inf")
    tally = run(asked.hosts, asked.rounds, seed=asked.seed, layout=asked.layout, until=until)
    sys.stdout.write(f"{asked.hosts} hosts, {asked.layout}, seed {asked.seed}: {tally}\n")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
