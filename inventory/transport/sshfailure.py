"""The error for what the OpenSSH client said before it gave up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inventory.transport import sshwords
from inventory.transport.exchange import connection_lost
from inventory.transport.keyscan import offered
from inventory.transport.knownhosts import Record, record_of, refused
from inventory.transport.unreachable import unreachable

if TYPE_CHECKING:
    from inventory.errors import HostUnreachable
    from inventory.sshconfig import SshOptions


def explain(words: str, host: str, options: SshOptions, route: tuple[SshOptions, ...] = ()) -> HostUnreachable:
    """What `words`, the stderr of an ssh that ended with 255, mean for the inventory host `host`.

    `route`: the jump hosts on the way to `options`.
    """
    kind = sshwords.failure_kind(words)
    if kind is None:
        return connection_lost(host, "ssh ended with 255 and said nothing")
    machine = _machine(words, options, route)
    hop = machine is not options
    if kind == sshwords.HOST_KEY:
        return refused(_key(words, machine), _record(words, machine), host, machine, hop=hop)
    return unreachable(kind, host, machine, observed=sshwords.last_line(words), hop=hop)


def _machine(words: str, options: SshOptions, route: tuple[SshOptions, ...]) -> SshOptions:
    """Which of the machines on the way failed."""
    named = [one for one in (options, *route) if one.host_key_name == sshwords.key_name(words)]
    if named:
        return named[0]
    if not route or not sshwords.on_the_way(words):
        return options
    return next((hop for hop in route if hop.hostname in words), route[0])


def _record(words: str, machine: SshOptions) -> Record:
    """What is on record, and the line of it that ssh itself named."""
    record, line = record_of(machine), sshwords.offending_line(words)
    return replace(record, lines=(line,)) if line else record


def _key(words: str, machine: SshOptions) -> str:
    """Ssh shows a changed key, but not an unknown one: that is asked for again."""
    if shown := sshwords.offered_key(words):
        return shown
    key, _ = offered(machine)
    return str(key or "the key could not be read")
