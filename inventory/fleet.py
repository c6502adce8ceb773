"""The selected hosts as one: logins that stay open, and the same function on all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self, TypeVar

from inventory.errors import BringupError, raise_all
from inventory.fanout import Logins, fan_out

if TYPE_CHECKING:
    from types import TracebackType

    from inventory.schema import Host
    from inventory.transport.base import Transport

T = TypeVar("T")


class Fleet:
    """Hosts with one login each, made when it is first needed. A context manager: leaving it ends all logins.

    `brief`: most likely they are asked once, with one script; later questions cost another login.
    """

    def __init__(self, hosts: Sequence[Host], *, brief: bool = False) -> None:
        self.hosts = {host.name: host for host in hosts}
        self._logins = Logins(brief=brief)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._logins.close()

    @property
    def state_dirs(self) -> dict[str, str]:
        return {name: host.state_dir for name, host in self.hosts.items()}

    def reconnect(self) -> None:
        """End all logins; the next question logs in anew."""
        self._logins.close()

    def add(self, hosts: Sequence[Host]) -> None:
        """Take more hosts in."""
        self.hosts |= {host.name: host for host in hosts}

    def each(
        self,
        function: Callable[[Transport], T],
        names: Sequence[str] | None = None,
        *,
        within_s: float | None = None,
    ) -> dict[str, T | BringupError]:
        """Run `function` on every host, or on `names`, at once; a host's error is its result.

        `within_s`: a host that takes longer is given up, for all that is asked of this fleet later too.
        Ctrl-C ends all logins. What must still be done then, such as giving locks back, logs in anew.
        """
        if self._logins.closed:
            self._logins = Logins()
        chosen = [self.hosts[name] for name in (self.hosts if names is None else names)]
        return fan_out(chosen, function, logins=self._logins, within_s=within_s)

    def all(self, function: Callable[[Transport], T], names: Sequence[str] | None = None) -> dict[str, T]:
        """The same, where every answer is needed. Raises the errors of all hosts that gave none."""
        outcomes = self.each(function, names)
        raise_all([outcome for outcome in outcomes.values() if isinstance(outcome, BringupError)])
        return {name: outcome for name, outcome in outcomes.items() if not isinstance(outcome, BringupError)}

    def on(self, name: str, function: Callable[[Transport], T]) -> T:
        """The answer of one host. Raises its error."""
        return self.all(function, [name])[name]
