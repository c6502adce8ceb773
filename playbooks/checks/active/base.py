"""Active checks: they send packets, use GPUs or read much, so they run only when asked for (`--active`, and deploy).

Like the others they touch nothing themselves. Each gives the scripts that a runner has hosts run, under a deadline of
its own, and a pure judgement of what came back. A script is POSIX sh, ends by itself, leaves nothing behind, and where
a host lacks the tool it prints a line `no-tool NAMES`, which is an unknown and never a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from inventory.facts.base import Maybe
from playbooks.checks.base import Check
from playbooks.finding import Finding
from playbooks.requirements import HostRequirements, Requirements


@dataclass(frozen=True, slots=True)
class Said:
    """What a script printed on one host, and its exit status (124 or 137: its deadline passed)."""

    status: int
    out: str
    err: str = ""

    def value(self, key: str) -> str | None:
        """The rest of the first line `KEY rest`."""
        return next(iter(self.values(key)), None)

    def values(self, key: str) -> tuple[str, ...]:
        """The rest of every line `KEY rest`, in order."""
        pairs = (line.partition(" ") for line in self.out.splitlines())
        return tuple(rest.strip() for first, _, rest in pairs if first == key)

    @property
    def complaint(self) -> str:
        """The last line on stderr, or else on stdout, that is not blank: fit for one line of a report."""
        lines = [*self.out.splitlines(), *self.err.splitlines()]
        last = next((line for line in reversed(lines) if line.strip()), f"exit status {self.status}")
        return "".join(char if char.isprintable() else " " for char in last).strip()[:160]


class ActiveCheck(Check, Protocol):
    DEADLINE_S: int  # on the host, for one script


class HostTrial(ActiveCheck, Protocol):
    """One script on each host, all hosts at once.

    `script` is a `Finding` (a skip, or what can be told without trying) where there is nothing to run. `judge` is
    given an `Unknown` where the host did not answer.
    """

    def script(self, host: HostRequirements, needs: Requirements, /) -> str | Finding: ...

    def judge(self, said: Maybe[Said], host: HostRequirements, needs: Requirements, /) -> Finding: ...


class PairTrial(ActiveCheck, Protocol):
    """Two sides: first `listen` on every host, then `connect` on every host, then `hang_up` where `listen` answered.

    `listen` returns as soon as its background process is ready, which ends by itself `DEADLINE_S` later at the latest.
    `connect` is given what the listeners said, by host. A `Finding` in place of a script: nothing to run there.
    """

    def listen(self, host: HostRequirements, needs: Requirements, /) -> str | Finding: ...

    def connect(
        self, host: HostRequirements, needs: Requirements, listening: Mapping[str, Maybe[Said]], /
    ) -> str | Finding: ...

    def hang_up(self, said: Said, /) -> str: ...

    def judge(
        self, listening: Mapping[str, Maybe[Said]], connected: Mapping[str, Maybe[Said]], needs: Requirements, /
    ) -> tuple[Finding, ...]: ...


def python_of(host: HostRequirements) -> str | None:
    """The interpreter of the environment that the ranks run in; None: they run in a container, or the plan has none."""
    folder, _, program = (host.argv[0] if host.argv else "").rpartition("/")
    return f"{folder}/python" if folder and program == "vllm" else None
