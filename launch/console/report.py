"""What the operator sees: talk and progress on stderr, data on stdout, readable without colour.

rich is imported where it draws: a verb that asks hosts should not make them wait for it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.secret import HIDDEN
from launch.console.nextcommand import with_inventory
from playbooks.finding import Status

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from inventory.errors import BringupError
    from launch.choosing.reasons import Reason
    from launch.watching.event import Row
    from playbooks.finding import Finding
    from playbooks.phase_script import Event
    from playbooks.plan import Change, Plan

FORMAT_VERSION = 1
LONG_S = 60.0
LAST_AT_LEAST = 24
"""Letters in which the last column of a table can still be read."""
_STYLES = {Status.FAIL: "bold red", Status.UNKNOWN: "bold red", Status.WARN: "yellow", Status.PASS: "green"}


@dataclass(slots=True)
class Report:
    """Progress of one run. `seconds` keeps how long each phase took, for the last lines of a deploy."""

    quiet: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    _made: Console | None = None

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.began

    @property
    def _console(self) -> Console:
        self._made = self._made or console(stderr=True)
        return self._made

    @contextmanager
    def phase(self, title: str) -> Iterator[None]:
        """Head the lines of a phase and take its time."""
        self.say(f"==> {title}", style="bold")
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[title] = time.monotonic() - began

    def say(self, text: str, *, style: str = "") -> None:
        if self.quiet:
            return
        text = with_inventory(text)
        if not sys.stderr.isatty() and "FORCE_COLOR" not in os.environ:
            sys.stderr.write(f"{text}\n")
            return
        from rich.text import Text

        self._console.print(Text(text, style=style))

    def error(self, error: BringupError) -> None:
        from rich.text import Text

        self._console.print(Text(with_inventory(str(error)), style="red"))

    def reasons(self, reasons: Sequence[Reason], hosts: Sequence[str]) -> None:
        """What was decided, the same on many hosts once; why is told where the operator should read it first."""
        from launch.console.causes import told_of_all

        for text in told_of_all(((one.decision, one.chosen) for one in reasons if not one.warns), hosts):
            self.say(f"  {text}")
        for text in dict.fromkeys(str(one) for one in reasons if one.warns):
            self.say(f"  {text}", style="yellow")

    def findings(self, findings: Sequence[Finding], *, brief: bool = False) -> None:
        """Show what does not pass, one cause once for all its hosts, and count the rest.

        `brief`: what does not forbid the launch in two lines, and of the least priority not at all.
        """
        from launch.console.causes import causes

        for cause in causes(findings):
            if cause.status is Status.PASS or cause.status not in _STYLES:
                continue
            if brief and cause.status is Status.WARN and cause.priority not in {"P0", "P1"}:
                continue
            lines = cause.brief() if brief and cause.status is Status.WARN else cause.lines()
            self.say("\n".join(lines), style=_STYLES[cause.status])
        counts = {status: sum(one.status is status for one in findings) for status in Status}
        self.say("checks: " + ", ".join(f"{count} {status}" for status, count in counts.items() if count))

    def plan(self, plan: Plan) -> None:
        """Show every change of every host."""
        if plan.empty:
            self.say(
                f"nothing to change: {plan.deployment} is as planned on {', '.join(plan.hosts)}",
                style="green",
            )
            return
        from rich.table import Table
        from rich.text import Text

        table = Table("phase", "action", "change", "hosts", box=None, pad_edge=False)
        for (phase, action, summary), hosts in same_changes(plan).items():
            table.add_row(phase, action, Text(summary, overflow="fold"), ", ".join(hosts))
        if not self.quiet:
            self._console.print(table)

    def event(self, change: Change, event: Event) -> None:
        """A change has begun or ended; the beginning is only worth a line when the end may be long in coming."""
        if event != "begin":
            self.say(f"{change.host}: {change.summary}: {event}")
        elif change.deadline_s > LONG_S:
            self.say(f"{change.host}: {change.summary}: begun")

    def says(self, change: Change, line: str) -> None:
        self.say(f"{change.host}: {change.summary}: {line}", style="dim")

    @contextmanager
    def table_of_ranks(self) -> Iterator[Callable[[list[Row]], None] | None]:
        """Hand out a function that redraws the ranks of a start in place; None where nobody looks at a terminal."""
        if self.quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            yield None
            return
        from rich.live import Live

        with Live(console=self._console, refresh_per_second=4, transient=False) as live:
            yield lambda rows: live.update(_ranks(rows))

    def timings(self) -> None:
        parts = [f"{title.lower()} {seconds:.1f} s" for title, seconds in self.seconds.items()]
        self.say("took: " + ", ".join(parts))


def console(*, stderr: bool = False) -> Console:
    """A console that wraps for a person's terminal only: what goes to a file or a pipe keeps its lines."""
    from rich.console import Console

    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, highlight=False, soft_wrap=True, width=None if is_terminal else 1000)


def _ranks(rows: Sequence[Row]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table("host", "ranks", "phase", "for", "took before", "", box=None, pad_edge=False)
    for row in rows:
        style = "green" if row.sentence == "ready" else "yellow" if row.note else ""
        cells = (row.host, row.ranks, row.sentence, f"{row.phase_s:.0f} s", row.expected, row.note)
        table.add_row(*(Text(cell, style=style) for cell in cells))
    return table


def same_changes(plan: Plan) -> dict[tuple[str, str, str], list[str]]:
    """Hosts by change, in the order in which phases come: the same change on 30 hosts is one line."""
    from playbooks.plan import Phase

    order = list(Phase)
    united: dict[tuple[str, str, str], list[str]] = {}
    for change in sorted(plan.changes, key=lambda one: order.index(one.phase)):
        united.setdefault((change.phase, change.action, change.summary), []).append(change.host)
    return united


def printable(line: str) -> str:
    """A line of a host's log as text: what would move the cursor or change colours is shown, not done."""
    return "".join(one if one.isprintable() or one == "\t" else one.encode("unicode_escape").decode() for one in line)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, one_line: bool = False) -> None:
    """Print data as aligned columns on stdout; `one_line`: cut the last column at a terminal's edge, never wrap.

    On a terminal that is too narrow for all but the last column, each row is lines of its own.
    """
    from rich.table import Table
    from rich.text import Text

    if not one_line and _too_narrow(columns, rows, console()):
        print_lines(_records(columns, rows))
        return
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            *(Text(with_inventory(cell), overflow="ellipsis" if one_line else "fold", no_wrap=one_line) for cell in row)
        )
    drawing = console()
    with drawing.capture() as drawn:
        if one_line:
            for column, cells in zip(table.columns[:-1], zip(columns, *rows, strict=True), strict=False):
                column.min_width = max(map(len, cells))
            drawing.print(table, soft_wrap=False, crop=False)
        else:
            drawing.print(table)
    print_lines(line.rstrip() for line in drawn.get().splitlines())


def _too_narrow(columns: Sequence[str], rows: Sequence[Sequence[str]], here: Console) -> bool:
    widths = [max(map(len, cells)) + 2 for cells in zip(columns, *rows, strict=True)]
    return here.is_terminal and sum(widths[:-1]) + min(widths[-1], LAST_AT_LEAST) > here.width


def _records(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first cell of each row as a heading, the others that say something with their columns' names."""
    widest = max(map(len, columns))
    for row in rows:
        yield row[0]
        yield from (f"  {column:<{widest}}  {cell}" for column, cell in zip(columns[1:], row[1:], strict=True) if cell)


def print_lines(lines: Iterable[str]) -> None:
    """Print data as lines on stdout, as they are."""
    sys.stdout.writelines(f"{with_inventory(line)}\n" for line in lines)


def _plain(value: object) -> object:
    """What a host said instead of an answer, as data: it stands beside the answers of the others."""
    from inventory.errors import BringupError

    if isinstance(value, BringupError):
        return {key: getattr(value, key) for key in ("id", "message", "observed", "required", "next_command", "host")}
    raise TypeError(f"{type(value).__name__} is no data")


def print_json(kind: str, data: object, *, hide: Iterable[str] = (), line: bool = False) -> None:
    """Print `data` as one JSON document on stdout; `kind` and `format_version` say what it is.

    `line`: on one line and at once, as one of several that come while something goes on.
    Each of the texts `hide` is shown as `***` wherever it stands, also inside a script.
    """
    from pydantic_core import to_jsonable_python

    document = {"format_version": FORMAT_VERSION, "kind": kind, "data": to_jsonable_python(data, fallback=_plain)}
    text = json.dumps(document, indent=None if line else 2, ensure_ascii=False)
    text = with_inventory(text, in_json=True)
    for secret in hide:
        text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], HIDDEN)
    sys.stdout.write(text + "\n")
    if line:
        sys.stdout.flush()
