"""The ways in which a host cannot be reached, each with the words and the next command that an operator gets.

The ids are the same whichever transport met the failure: `dns`, `refused`, `timeout`, `no-route`, `banner`, `kex`,
`auth`, `jump`, `ssh-failed`; `host-key-unknown` and `host-key-changed` are in `knownhosts`, `connection-lost`
and `no-shell` in `exchange`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.errors import HostUnreachable
from inventory.quoting import quote, quote_all

if TYPE_CHECKING:
    from inventory.sshconfig import SshOptions

# id: message, required, next command ("" is ssh -v); the fields are those of `unreachable`
_FAILURES = {
    "dns": ("the name is not known", "a name that this machine resolves", "getent hosts {address}"),
    "refused": ("nothing listens on the SSH port", "sshd on {address} port {port}", ""),
    "timeout": ("no answer to the login", "an answer of {address} port {port} in time", "ping -c 3 {address}"),
    "no-route": ("there is no way to the address", "a route to {address}", "ip route get {address}"),
    "banner": ("sshd dropped the login before it began", "free login slots (MaxStartups of sshd)", ""),
    "kex": ("no common algorithm with sshd", "algorithms that both sides offer", ""),
    "auth": ("the host refuses the login", "a key that {user}@{address} accepts without a question", ""),
    "jump": ("the jump host cannot reach the host", "a way from the jump host to {address} port {port}", ""),
    "ssh-failed": ("the login failed", "a login without a question", ""),
}


def unreachable(kind: str, host: str, options: SshOptions, *, observed: str, hop: bool = False) -> HostUnreachable:
    """The error of kind `kind` (an id above) for the inventory host `host`.

    `options` are of the machine that failed: the host itself, or with `hop` a jump host on the way to it.
    """
    message, required, command = _FAILURES[kind]
    fields = {"address": quote(options.hostname), "port": options.port, "user": options.user}
    return HostUnreachable(
        f"jump host {options.target}: {message}" if hop else message,
        id=kind,
        observed=observed,
        required=required.format(**fields),
        next_command=command.format(**fields) or login_command(options),
        host=host,
    )


def login_command(options: SshOptions) -> str:
    """The command with which an operator sees what ssh itself says."""
    return quote_all(["ssh", "-v", "-o", "BatchMode=yes", *options.arguments, options.target, "true"])
