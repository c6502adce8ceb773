"""Which transport a host takes. The libraries of one are imported only when a host needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.transport.local import LocalTransport

if TYPE_CHECKING:
    from inventory.schema import Host
    from inventory.sshconfig import SshOptions
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


def choose(host: Host, *, brief: bool = False) -> FramedTransport:
    """The transport of `host`, not logged in yet; it logs in with `open` or its first script.

    `auto` is ssh by paramiko, or the OpenSSH client where the configuration of the host needs it. `brief`: most
    likely a single script is all that it will be asked.
    """
    if host.transport == "local":
        return LocalTransport(host.name)
    from inventory.sshconfig import effective, route

    options = effective(host)
    hops = route(options)
    needs_openssh = any(one.needs_openssh or _own_agent(one) for one in (options, *hops))
    if host.transport == "openssh" or (host.transport == "auto" and needs_openssh):
        from inventory.transport.openssh import OpensshTransport

        return OpensshTransport(host.name, options, hops)
    if brief and host.transport == "auto" and not hops:
        from inventory.transport.clientfirst import ClientFirst

        return ClientFirst(host.name, options, lambda: _by_paramiko(host, options, hops))
    return _by_paramiko(host, options, hops)


def _by_paramiko(host: Host, options: SshOptions, hops: tuple[SshOptions, ...]) -> FramedTransport:
    from inventory.transport.ssh import SshTransport

    return SshTransport(host.name, options, hops)


def _own_agent(options: SshOptions) -> bool:
    """Whether the keys are in another agent than SSH_AUTH_SOCK's, the only one that paramiko asks."""
    return options.identity_agent not in {None, "none"}
