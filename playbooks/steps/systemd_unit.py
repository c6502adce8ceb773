"""A unit of systemd: whether it starts with the host, runs, and has seen the files that configure it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import model_validator

from inventory.quoting import quote, quote_all
from playbooks.entry import At, Entry, FilePath, matching, shell
from playbooks.plan import Phase, Refusal, Step

Unit: TypeAlias = Annotated[
    str, matching(r"[A-Za-z0-9:_.@\\-]+\.(service|socket|timer|path|target|mount)", "a unit with its suffix")
]
REFUSALS = (
    Refusal(
        id="no-systemd",
        message="systemd does not run this host",
        required="systemd as PID 1, or an entry with `when: {supervisor: systemd}`",
        next_command="ssh HOST 'cat /proc/1/comm'",
    ),
    Refusal(
        id="unit-missing",
        message="there is no such unit",
        required="the package that brings it",
        next_command="ssh HOST 'systemctl list-unit-files'",
    ),
    Refusal(
        id="unit-failed",
        message="a unit could not be started",
        required="a unit that runs",
        next_command="ssh HOST 'systemctl --failed; journalctl -b -p err | tail -40'",
    ),
)


class SystemdUnit(Entry):
    """None: as it is. `masked`: nothing can start it. `restarted_after`: files that it reads when it starts."""

    PHASE: ClassVar[Phase] = Phase.SERVICES
    kind: Literal["systemd_unit"]
    unit: Unit
    enabled: bool | None = None
    running: bool | None = None
    masked: bool = False
    restarted_after: tuple[FilePath, ...] = ()

    @model_validator(mode="after")
    def _something(self) -> SystemdUnit:
        if self.masked and (self.enabled or self.running):
            raise ValueError("`masked: true` alone: what is masked is neither enabled nor running")
        if not self.masked and self.enabled is None and self.running is None:
            raise ValueError("one of `enabled`, `running` and `masked`")
        if self.restarted_after and not self.running:
            raise ValueError("`running: true` beside `restarted_after`")
        return self

    def step(self, at: At) -> Step:
        begin = (
            f"{shell('systemd_unit')}\n"
            f"unit={quote(self.unit)} enabled={_word(self.enabled)} running={_word(self.running)} "
            f"masked={_word(self.masked)}\n"
            f"set -- {quote_all(self.restarted_after)}\n"
        )
        words = self._words()
        return self.made(
            at,
            probe=f'{begin}unit_state "$@"',
            wanted=" ".join(words),
            script=f'{begin}make_so "$@"\n',
            summary=f"{self.unit}: {', '.join(words)}",
            deadline_s=300.0,
            refusals=REFUSALS,
        )

    def _words(self) -> list[str]:
        if self.masked:
            return ["masked"]
        found = [] if self.enabled is None else ["enabled" if self.enabled else "disabled"]
        return found + ([] if self.running is None else ["running" if self.running else "stopped"])


def _word(answer: bool | None) -> str:  # noqa: FBT001  (it is the answer)
    return "''" if answer is None else "yes" if answer else "no"
