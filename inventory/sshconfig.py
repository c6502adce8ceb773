"""What the OpenSSH client would do for a host, as `ssh -G` tells it.

paramiko reads ssh_config by itself, but without `Include`, `Match exec`, `ProxyJump none` and more; so every
transport takes its options from here. `effective` is the entry: the inventory's settings are given to `ssh -G`
as options, hence win as they do on the command line, and are seen by `Match` blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from inventory import names, sshpaths
from inventory.errors import BadInput
from inventory.quoting import quote_all
from inventory.sshclient import print_config
from inventory.sshneeds import openssh_only

if TYPE_CHECKING:
    from inventory.schema import Host

Lines = dict[str, tuple[str, ...]]
"""Lower-case keyword to its values in order, as `ssh -G` prints them."""

NOBODY: Final = "a-name-that-no-ssh-config-lists"
"""What ssh says of this name it says of every name."""

MAX_HOPS: Final = 8


@dataclass(frozen=True, slots=True)
class Hop:
    """One jump host; empty user and no port: what ssh says for `host`."""

    host: str
    user: str = ""
    port: int | None = None


@dataclass(frozen=True, slots=True)
class SshOptions:
    """How ssh reaches one target. Paths are expanded; the files need not exist.

    `arguments`, put before `target`, make the ssh client come to the same answer. `proxy_jump`: first hop
    first (`route` resolves them). `identity_agent`: None for the usual SSH_AUTH_SOCK, "none", or a socket.
    `strict_host_key_checking`: as ssh prints it: ask, true, accept-new, false. `connect_timeout`: seconds.
    `needs_openssh`: why another ssh implementation would fail here; empty when it would not. `control_path`: of
    ssh's own connection sharing. `key_exchanges`: those that ssh offers, in its order.
    """

    target: str
    arguments: tuple[str, ...]
    hostname: str
    user: str
    port: int
    identity_files: tuple[str, ...]
    identities_only: bool
    identity_agent: str | None
    proxy_jump: tuple[Hop, ...]
    proxy_command: str | None
    user_known_hosts_files: tuple[str, ...]
    global_known_hosts_files: tuple[str, ...]
    host_key_alias: str | None
    strict_host_key_checking: str
    connect_timeout: int | None
    needs_openssh: tuple[str, ...]
    control_path: str | None = None
    key_exchanges: tuple[str, ...] = ()

    @property
    def host_key_name(self) -> str:
        """The name under which known_hosts lists the key: `name`, or `[name]:port` unless port 22."""
        if self.host_key_alias:
            return self.host_key_alias
        return self.hostname if self.port == 22 else f"[{self.hostname}]:{self.port}"


def effective(host: Host) -> SshOptions:
    """Options for `host`: its explicit settings over what ssh's own configuration says.

    Raises `BadInput` when a named file is missing, there is no ssh client, or ssh refuses its configuration.
    """
    for setting in ("identity_file", "ssh_config"):
        _must_exist(host, setting)
    return ask(host.address, arguments_of(host))


def arguments_of(host: Host) -> tuple[str, ...]:
    """The ssh options that say what the inventory says.

    An explicit key comes with `IdentitiesOnly`: otherwise the keys of an agent are tried first, and servers
    close the connection after six of them.
    """
    words: list[str] = []
    if host.ssh_config:
        words += ["-F", sshpaths.expand_home(host.ssh_config)]
    if host.user:
        words += ["-l", host.user]
    if host.port:
        words += ["-p", str(host.port)]
    if host.identity_file:
        words += ["-o", "IdentitiesOnly=yes", "-i", sshpaths.expand_home(host.identity_file)]
    if host.jump:
        words += ["-J", host.jump]
    return tuple(words)


def ask(target: str, arguments: tuple[str, ...] = ()) -> SshOptions:
    """Run `ssh -G` with `arguments` for `target` and read its answer."""
    return read(target, arguments, print_config(target, arguments))


def ssh_mentions(name: str) -> bool:
    """Whether ssh_config says of `name` anything that it does not say of every host."""
    one, every = (_lines(print_config(each)) for each in (name, NOBODY))
    if one.get("hostname") != (name,):
        return True
    hidden = ("host", "hostname")
    return any(one.get(key) != every.get(key) for key in (one.keys() | every.keys()) - {*hidden})


def route(options: SshOptions) -> tuple[SshOptions, ...]:
    """Options of every jump host on the way, first to last, as OpenSSH would take them; empty without a jump.

    The first hop follows its own ProxyJump, the later ones are reached through the hop before them.
    """
    return _route(options, ())


def _route(options: SshOptions, behind: tuple[str, ...]) -> tuple[SshOptions, ...]:
    if len(behind) > MAX_HOPS:
        raise BadInput(
            f"the jump hosts of {behind[0]} go round in circles",
            id="ssh-config",
            observed=" via ".join(behind),
            required=f"at most {MAX_HOPS} jump hosts",
            next_command=quote_all(["ssh", "-G", behind[0]]),
        )
    found: list[SshOptions] = []
    for hop in options.proxy_jump:
        one = ask(hop.host, _hop_arguments(hop, options, first=not found))
        found += [*_route(one, (*behind, options.target)), one]
    return tuple(found)


def _hop_arguments(hop: Hop, options: SshOptions, *, first: bool) -> tuple[str, ...]:
    words: list[str] = []
    if options.arguments[:1] == ("-F",):
        words += options.arguments[:2]
    if hop.user:
        words += ["-l", hop.user]
    if hop.port:
        words += ["-p", str(hop.port)]
    return (*words, *(() if first else ("-J", "none")))


def read(target: str, arguments: tuple[str, ...], answer: str) -> SshOptions:
    """Make the options from an answer of `ssh -G`."""
    lines = _lines(answer)
    hostname, user, port = _one(lines, "hostname") or target, _one(lines, "user") or "", _port(lines)
    alias, timeout = _one(lines, "hostkeyalias"), _one(lines, "connecttimeout") or ""
    tokens = sshpaths.tokens(target=target, hostname=hostname, user=user, port=port, key_name=alias or target)
    identities = sshpaths.expand_all(lines.get("identityfile", ()), tokens)
    user_known_hosts, global_known_hosts = (
        sshpaths.expand_all(sshpaths.split(_one(lines, f"{whose}knownhostsfile") or ""), tokens)
        for whose in ("user", "global")
    )
    known_hosts = (*user_known_hosts, *global_known_hosts)
    return SshOptions(
        target=target,
        arguments=arguments,
        hostname=hostname,
        user=user,
        port=port,
        identity_files=identities,
        identities_only=_one(lines, "identitiesonly") == "yes",
        identity_agent=_agent(lines, tokens),
        proxy_jump=_jump(lines),
        proxy_command=_one(lines, "proxycommand"),
        user_known_hosts_files=user_known_hosts,
        global_known_hosts_files=global_known_hosts,
        host_key_alias=alias,
        strict_host_key_checking=_one(lines, "stricthostkeychecking") or "ask",
        connect_timeout=int(timeout) if timeout.isdecimal() else None,
        needs_openssh=openssh_only(lines, identities, known_hosts, (alias or hostname, port)),
        control_path=_one(lines, "controlpath"),
        key_exchanges=tuple(filter(None, (_one(lines, "kexalgorithms") or "").split(","))),
    )


def _must_exist(host: Host, setting: str) -> None:
    path = getattr(host, setting)
    if path and not Path(sshpaths.expand_home(path)).is_file():
        raise BadInput(
            f"the {setting} of {host.name} is not there",
            id="ssh-config",
            observed=f"no file {path}",
            required=f"a file on this machine, or no {setting} for this host",
            next_command=quote_all(["ls", "-l", sshpaths.expand_home(path)]),
            host=host.name,
        )


def _lines(answer: str) -> Lines:
    found: Lines = {}
    for line in answer.splitlines():
        word, _, value = line.strip().partition(" ")
        found[word.lower()] = (*found.get(word.lower(), ()), value.strip())
    return found


def _one(lines: Lines, keyword: str) -> str | None:
    """The value of a keyword; `none` is how ssh says that there is none."""
    values = lines.get(keyword, ())
    return values[0] if values and values[0] not in {"none", ""} else None


def _port(lines: Lines) -> int:
    return int(_one(lines, "port") or 22)


def _agent(lines: Lines, tokens: sshpaths.Tokens) -> str | None:
    values = lines.get("identityagent", ("SSH_AUTH_SOCK",))
    if values[0] == "SSH_AUTH_SOCK":
        return None
    return sshpaths.expand(values[0], tokens) or "none"


def _jump(lines: Lines) -> tuple[Hop, ...]:
    return tuple(Hop(host, user, port) for user, host, port in names.hops(_one(lines, "proxyjump") or "none"))
