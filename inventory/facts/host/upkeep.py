"""How the host is kept, and what a login on it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Session:
    """The login of the user. None: not told."""

    shell: str | None = None
    linger: bool | None = None  # services of the user outlive its sessions
    kill_user_processes: bool | None = None  # logind ends what a session leaves


@dataclass(frozen=True, slots=True)
class Way:
    """How the control machine reaches the host, by ssh's own configuration."""

    target: str  # what ssh is given
    hostname: str
    user: str
    port: int | None
    jumps: tuple[str, ...] = ()  # user@host:port, the first first
    proxy_command: str | None = None
    identities_only: bool = False
    agent_keys: int | None = None  # that the agent offers; None: it does not answer
    control_path: str | None = None  # of ssh's own connection sharing, expanded
    dropped_logins: int = 0  # that a server ended before they began, and that were tried again


@dataclass(frozen=True, slots=True)
class SshServer:
    """What the server of this host takes at once, as `sshd -T` tells it."""

    start: int  # logins that have not ended yet: it begins to drop there
    rate: int  # percent that it drops then
    full: int  # all are dropped
    sessions: int  # on one connection


@dataclass(frozen=True, slots=True)
class Updates:
    """Names are of packages. `excluded`: patterns that automatic updates leave out."""

    automatic: bool | None = None  # packages are upgraded by themselves; None: not told
    excluded: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    wants_reboot: bool | None = None
    reboot_packages: tuple[str, ...] = ()  # that want one
    kernels: tuple[str, ...] = ()  # in /boot
    upgraded_since_boot: tuple[str, ...] | None = None  # of drivers and kernels: `name version`; None: not told


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What compiles kernels when a rank starts. `fault`: why a small library could not be made; empty: it could."""

    compiler: str | None  # first line of `cc --version`; None: no cc
    fault: str
    python_headers: tuple[tuple[str, bool], ...] = ()  # folder of an environment, and whether its Python has headers


@dataclass(frozen=True, slots=True)
class Busy:
    pid: int
    percent: float  # of one CPU, over its whole life
    name: str


@dataclass(frozen=True, slots=True)
class Load:
    """The averages of the kernel over 1, 5 and 15 minutes, and the busiest processes, the first first."""

    averages: tuple[float, float, float]
    busiest: tuple[Busy, ...] = ()
