"""Real OpenSSH servers on loopback, each with its own port, host key, user key and configuration."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from inventory.schema import Host
from inventory.transport.connect import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inventory.transport.framed import FramedTransport

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))
START_S = 20.0


def make_key(path: Path, kind: str = "ed25519") -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "test", "-f", path], check=True)
    return path


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Server:
    """One sshd; `options` are lines of its configuration, which win over the usual ones."""

    folder: Path
    options: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return f"[127.0.0.1]:{self.port}"

    @property
    def user_key(self) -> Path:
        return self.folder / "user"

    @property
    def host_key(self) -> Path:
        return self.folder / "host"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def ssh_config(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        make_key(self.user_key)
        make_key(self.host_key)
        shutil.copy(self.user_key.with_suffix(".pub"), self.folder / "authorized_keys")
        self.trust(self.host_key)
        self.ssh_config.write_text(
            f"Host *\n  UserKnownHostsFile {self.known_hosts}\n  GlobalKnownHostsFile /dev/null\n"
        )
        self.write_config()

    def trust(self, *keys: Path) -> None:
        """Put the public halves of `keys`, and nothing else, on record for this server."""
        lines = [f"{self.name} {' '.join(key.with_suffix('.pub').read_text().split()[:2])}\n" for key in keys]
        self.known_hosts.write_text("".join(lines))

    def write_config(self) -> None:
        lines = [
            *self.options,
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.host_key}",
            f"AuthorizedKeysFile {self.folder}/authorized_keys",
            f"PidFile {self.folder}/pid",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
            "MaxStartups 100:30:200",
            "LogLevel VERBOSE",
        ]
        (self.folder / "sshd_config").write_text("\n".join(lines) + "\n")

    def start(self, *, answers: bool = True) -> None:
        """`answers`: wait for its first word."""
        assert SSHD
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as probe:
                if probe.recv(4) == b"SSH-" or not answers:
                    return
            time.sleep(0.02)
        raise AssertionError(f"sshd did not start: {self.log}")

    def sessions(self) -> list[int]:
        """Pids of the sshd processes that serve a connection."""
        assert self.process
        return descendants(self.process.pid)

    def stop(self) -> None:
        """End the listener and all that it started, as a machine that dies would."""
        if self.process:
            for pid in [self.process.pid, *self.sessions()]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def host(self, transport: str = "ssh", **changes: Any) -> Host:  # noqa: ANN401
        settings = {
            "name": f"{transport}-host",
            "address": "127.0.0.1",
            "port": self.port,
            "user": getpass.getuser(),
            "identity_file": str(self.user_key),
            "ssh_config": str(self.ssh_config),
            "transport": transport,
        }
        return Host(**{**settings, **changes})


def descendants(pid: int) -> list[int]:
    found = []
    for task in Path("/proc").glob(f"{pid}/task/*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


@contextlib.contextmanager
def servers_in(folder: Path) -> Iterator[Callable[..., Server]]:
    """A maker of servers: its arguments are lines of their configuration. All end with the block."""
    if SSHD is None:
        pytest.skip("no sshd here: apt-get install openssh-server")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # as the service would
    servers: list[Server] = []

    def make(*options: str) -> Server:
        server = Server(folder / f"sshd{len(servers)}", options)
        servers.append(server)
        server.prepare()
        server.start()
        return server

    try:
        yield make
    finally:
        for server in servers:
            server.stop()


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    with servers_in(tmp_path) as make:
        yield make


@pytest.fixture
def server(make_server: Callable[..., Server]) -> Server:
    """A server that the test may break."""
    return make_server()


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that tests leave as it is."""
    with servers_in(tmp_path_factory.mktemp("sshd")) as make:
        yield make()


@pytest.fixture
def login() -> Iterator[Callable[[Host], FramedTransport]]:
    """`connect`, with the connections closed at the end of the test."""
    opened: list[FramedTransport] = []

    def log_in(host: Host) -> FramedTransport:
        opened.append(connect(host))
        return opened[-1]

    yield log_in
    for transport in opened:
        transport.close()


def wait_until_gone(*pids: int, seconds: float = 10.0) -> None:
    """Fail unless every process has ended (or is a zombie, which runs nothing)."""
    end = time.monotonic() + seconds
    alive = list(pids)
    while alive and time.monotonic() < end:
        alive = [pid for pid in alive if is_running(pid)]
        time.sleep(0.02)
    assert alive == []


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """paramiko's own threads may trip over a connection that a test cuts: seen once, on a loaded machine."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default::pytest.PytestUnhandledThreadExceptionWarning"))
