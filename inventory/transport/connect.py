"""Which transport a host takes. The libraries of one are imported only when a host needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.transport.local import LocalTransport

if TYPE_CHECKING:
    from inventory.schema import Host
    from inventory.transport.framed import FramedTransport


def connect(host: Host) -> FramedTransport:
    """Log in to `host`. Raises `HostUnreachable`, or `BadInput` when ssh refuses its configuration."""
    transport = choose(host)
    try:
        transport.open()
    except BaseException:
        transport.close()
        raise
    return transport


def choose(host: Host) -> FramedTransport:
    """The transport of `host`, not logged in yet; it logs in with `open` or its first script.

    `auto` is ssh by paramiko, or the OpenSSH client where the configuration of the host needs it.
    """
    if host.transport == "local":
        return LocalTransport(host.name)
    from inventory.sshconfig import effective  # noqa: PLC0415  (asks pydantic and ssh)

    options = effective(host)
    if host.transport == "openssh" or (host.transport == "auto" and options.needs_openssh):
        from inventory.transport.openssh import OpensshTransport  # noqa: PLC0415

        return OpensshTransport(host.name, options)
    from inventory.transport.ssh import SshTransport  # noqa: PLC0415  (half a second of imports)

    return SshTransport(host.name, options)
