"""The selected hosts as one: a connection each, and the same function on all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from inventory.errors import BringupError
from inventory.fanout import fan_out
from inventory.transport.connect import choose

if TYPE_CHECKING:
    from types import TracebackType

    from inventory.schema import Host
    from inventory.transport.base import Transport

T = TypeVar("T")


class Fleet:
    """Connections to hosts, opened when first used and closed together. A context manager."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.hosts = {host.name: host for host in hosts}
        self._transports: dict[str, Transport] = {host.name: choose(host) for host in hosts}

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def state_dirs(self) -> dict[str, str]:
        return {name: host.state_dir for name, host in self.hosts.items()}

    def each(
        self, function: Callable[[Transport], T], names: Sequence[str] | None = None
    ) -> dict[str, T | BringupError]:
        """Run `function` on every host, or on `names`, at once; a host's error is its result."""
        raise NotImplementedError

    def close(self) -> None:
        for transport in self._transports.values():
            transport.close()
