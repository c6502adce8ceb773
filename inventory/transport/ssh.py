"""SSH by fabric and paramiko: the only module that imports them.

Only their login is used, and none of it as it comes: keys are checked (fabric accepts any), options come from
`ssh -G`, scripts go through a channel of our own, and every wait ends by a timer that closes the connection.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fabric
import paramiko
from paramiko.ssh_exception import IncompatiblePeer

from inventory.transport.exchange import DEADLINE, Ending, Exchange, connection_lost
from inventory.transport.framed import FramedTransport
from inventory.transport.knownhosts import HostKey, Record, record_of, refused
from inventory.transport.tcp import Dialler
from inventory.transport.unreachable import unreachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inventory.sshconfig import SshOptions

CONNECT_S = 10
"""Seconds for the TCP connection where ssh_config has no ConnectTimeout."""

LOGIN_S = 20
"""Seconds from the connection to the end of the login, for each machine on the way: a status over hosts of which one is
frozen must not take half a minute."""

ALIVE_S = 10
"""Keeps firewalls from forgetting us, and gives TCP something that a dead host does not acknowledge."""

CHUNK = 65536
STALLED_S = 60.0
POLL_S = 0.2
COMMAND = "/bin/sh -s"

_KEX_TIMED_OUT = "No existing session"
"""What paramiko says when the key exchange did not end in time."""

_CHANNEL_TIMED_OUT = "Timeout opening channel."
"""What paramiko says when a login that stood before is not answered any more."""

_KINDS: tuple[tuple[str, type[Exception]], ...] = (
    ("dns", socket.gaierror),
    ("refused", ConnectionRefusedError),
    ("timeout", TimeoutError),
    ("jump", paramiko.ChannelException),
    ("auth", paramiko.AuthenticationException),
    ("kex", IncompatiblePeer),
)

logging.getLogger("paramiko").addHandler(logging.NullHandler())  # else its threads print tracebacks on stderr


class SshTransport(FramedTransport):
    """`route`: the jump hosts on the way, first to last."""

    def __init__(self, host: str, options: SshOptions, route: tuple[SshOptions, ...] = ()) -> None:
        super().__init__(host)
        self._options = options
        self._route = route
        self._login = threading.Lock()
        self._dialler = Dialler()
        self._connections: list[fabric.Connection] = []
        self._agent: paramiko.Agent | None = None
        self._closed = False

    @property
    def doors(self) -> tuple[str, ...]:
        return tuple(f"{one.hostname}:{one.port}" for one in self.way)

    @property
    def way(self) -> tuple[SshOptions, ...]:
        return (*self._route, self._options)

    def open(self) -> None:
        with self._login:
            if self._closed:
                raise connection_lost(self._host, "the connection was closed on this side")
            if self._connections and _is_up(self._connections[-1]):
                return
            self._drop()
            try:
                self._log_in()
            except BaseException:
                self._drop()
                raise

    def close(self) -> None:
        self._closed = True
        self._dialler.close()
        self._drop()

    def _drop(self) -> None:
        self._dialler.hang_up()  # first: closing politely would wait for a peer that does not answer
        while self._connections:
            # Another thread may be faster, and a hop closes over a connection that is cut already.
            with contextlib.suppress(IndexError, paramiko.SSHException, OSError, EOFError):
                self._connections.pop().client.close()
        if self._agent:
            self._agent.close()
            self._agent = None

    def _log_in(self) -> None:
        for options in (*self._route, self._options):
            hop = options is not self._options
            record = record_of(options)
            self._agent = self._agent or _agent()
            connection = _connection(options, record, self._connections[-1:], self._agent)
            try:
                self._open(connection, options)
            except _KeyRefusedError as error:
                raise refused(str(error.key), record, self._host, options, hop=hop) from None
            except (paramiko.SSHException, OSError, EOFError) as error:
                kind = _kind(error, connection.client.get_transport())
                observed = _words(error) + (_tried(options) if kind == "auth" else "")
                raise unreachable(kind, self._host, options, observed=observed, hop=hop) from None

    def _open(self, connection: fabric.Connection, options: SshOptions) -> None:
        if not self._connections:
            seconds = options.connect_timeout or CONNECT_S
            connection.connect_kwargs["sock"] = self._dialler.dial(options.hostname, options.port, seconds)
        self._connections.append(connection)
        with _hung_up_after(LOGIN_S, self._dialler) as late:
            try:
                connection.open()
                connection.transport.set_keepalive(ALIVE_S)
            except (paramiko.SSHException, OSError, EOFError):
                if late.is_set():
                    raise TimeoutError(f"no login within {LOGIN_S} s") from None
                raise

    def _converse(self, exchange: Exchange) -> Ending:
        connection = self._connections[-1]
        with _hung_up_after(exchange.remaining() + POLL_S, self._dialler) as late:
            try:
                with connection.transport.open_session() as channel:
                    ending = _converse(channel, exchange)
            except (paramiko.SSHException, OSError, EOFError) as error:
                ending = Ending(_words(error), lost=not _is_up(connection) or str(error) == _CHANNEL_TIMED_OUT)
        if late.is_set():
            ending = DEADLINE
        if ending.lost:
            self._drop()
        return ending

    def _pour(self, command: str, pieces: Iterable[bytes], *, deadline_s: float) -> None:
        connection = self._connections[-1]
        with _hung_up_after(deadline_s, self._dialler) as late:
            try:
                with connection.transport.open_session() as channel:
                    channel.settimeout(STALLED_S)
                    channel.exec_command(command)
                    for piece in pieces:
                        channel.sendall(piece)
                    channel.shutdown_write()
                    channel.status_event.wait(STALLED_S)
            except (paramiko.SSHException, OSError, EOFError) as error:
                words = f"it did not end within {deadline_s:g} s" if late.is_set() else _words(error)
                self._drop()
                raise connection_lost(self._host, f"a stream of data was cut off: {words}") from None


def _is_up(connection: fabric.Connection) -> bool:
    transport = connection.client.get_transport()
    return transport is not None and transport.is_authenticated()


def _connection(
    options: SshOptions, record: Record, gateway: list[fabric.Connection], agent: paramiko.Agent | None
) -> fabric.Connection:
    """A connection that is not open yet; fabric's and paramiko's own configuration files are not read."""
    connection = fabric.Connection(
        options.hostname,
        user=options.user,
        port=options.port,
        gateway=gateway[0] if gateway else False,
        forward_agent=False,
        config=fabric.Config(ssh_config=paramiko.SSHConfig(), lazy=True),
        connect_timeout=LOGIN_S,
        connect_kwargs={
            **_keys(options, agent),
            "look_for_keys": False,
            "banner_timeout": LOGIN_S,
            "auth_timeout": LOGIN_S,
            "channel_timeout": options.connect_timeout or CONNECT_S,
            "transport_factory": partial(_transport, record),
        },
    )
    connection.client.set_missing_host_key_policy(_RecordPolicy(record))
    return connection


def _agent() -> paramiko.Agent | None:
    with contextlib.suppress(paramiko.SSHException):  # something listens there and is no agent
        return paramiko.Agent()
    return None


def _keys(options: SshOptions, agent: paramiko.Agent | None) -> dict[str, Any]:
    """The keys to offer. With IdentitiesOnly that is the named ones, which the agent may hold unlocked."""
    files = [path for path in options.identity_files if Path(path).is_file()]
    if not options.identities_only or options.identity_agent == "none":
        return {"key_filename": files, "allow_agent": options.identity_agent != "none"}
    public = {blob: path for path in files if (blob := _public_half(path))}
    held = next((key for key in (agent.get_keys() if agent else ()) if key.get_base64() in public), None)
    left = [path for path in files if not held or path != public[held.get_base64()]]
    return {"key_filename": left, "allow_agent": False, "pkey": held}


def _public_half(path: str) -> str:
    """The public key of an identity file, as base64; empty where only the private half says it."""
    for name in (path, f"{path}.pub"):
        if Path(name).is_file():
            words = Path(name).read_text(encoding="utf-8", errors="replace").split(maxsplit=2)
            if words[:1] and words[0].startswith(("ssh-", "ecdsa-")) and len(words) > 1:
                return words[1]
    return ""


def _transport(record: Record, sock: socket.socket, **options: Any) -> paramiko.Transport:  # noqa: ANN401
    """A transport that asks first for the kinds of key that are on record."""
    transport = paramiko.Transport(sock, **options)
    known = {key.type for key in record.keys}
    offered = transport.get_security_options()
    offered.key_types = sorted(offered.key_types, key=lambda kind: _key_type(kind) not in known)
    return transport


def _key_type(algorithm: str) -> str:
    """The type of key that a signature algorithm takes."""
    return "ssh-rsa" if algorithm.startswith("rsa-sha2-") else algorithm


class _KeyRefusedError(paramiko.SSHException):
    def __init__(self, key: HostKey) -> None:
        super().__init__(f"refused {key}")
        self.key = key


class _RecordPolicy(paramiko.MissingHostKeyPolicy):
    """Refuses every key that is not on record; the client has no key of its own, so all keys come here."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:  # noqa: ARG002
        observed = HostKey(key.get_name(), key.get_base64())
        if not self._record.accepts(observed):
            raise _KeyRefusedError(observed)


@contextlib.contextmanager
def _hung_up_after(seconds: float, dialler: Dialler) -> Iterator[threading.Event]:
    """End the connection after `seconds`: whatever blocks on it then fails. The event tells that it did."""
    late = threading.Event()

    def end() -> None:
        late.set()
        dialler.hang_up()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


def _kind(error: Exception, transport: paramiko.Transport | None) -> str:
    """The id of a failed login. Without a transport it failed before there was a connection."""
    for kind, classes in _KINDS:
        if isinstance(error, classes):
            return kind
    if transport is None:
        return "no-route"
    if transport.initial_kex_done:
        return "auth"  # also a server that hangs up after too many keys
    return "timeout" if str(error) == _KEX_TIMED_OUT else "banner"


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _tried(options: SshOptions) -> str:
    keys = [path for path in options.identity_files if Path(path).is_file()]
    agent = ["no key of the agent"] if options.identity_agent == "none" else ["the agent"]
    return f" (user {options.user}, keys of {', '.join([*keys, *agent])})"


def _converse(channel: paramiko.Channel, exchange: Exchange) -> Ending:
    channel.exec_command(COMMAND)
    with contextlib.suppress(OSError):  # a login that does not read still says why on its output
        channel.sendall(exchange.text)
        channel.shutdown_write()
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        while not exchange.done:
            if not exchange.remaining():
                return DEADLINE
            selector.select(min(POLL_S, exchange.remaining()))
            ended = channel.closed or channel.eof_received
            _drain(channel, exchange)
            if ended and not exchange.done:
                return _ending(channel)
    return Ending("complete")


def _drain(channel: paramiko.Channel, exchange: Exchange) -> None:
    while channel.recv_ready():
        exchange.stdout.feed(channel.recv(CHUNK))
    while channel.recv_stderr_ready():
        exchange.stderr.feed(channel.recv_stderr(CHUNK))


def _ending(channel: paramiko.Channel) -> Ending:
    channel.status_event.wait(POLL_S)
    if channel.exit_status == -1:
        return Ending("the session ended without an exit status", lost=True)
    return Ending(f"the session ended with exit status {channel.exit_status}")
