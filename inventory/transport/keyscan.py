"""The host key that a server shows, read without logging in.

ssh itself asks, so that jump hosts, proxy commands and aliases are those of a real login; ssh-keyscan knows none of
them. It asks with an empty known_hosts of its own and offers no way to log in: nothing is trusted by asking.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.transport.knownhosts import HostKey
from inventory.transport.strictconfig import strict_arguments

if TYPE_CHECKING:
    from inventory.sshconfig import SshOptions

SCAN_S = 30.0

_ASK = (
    "StrictHostKeyChecking=accept-new",  # into the empty file
    "GlobalKnownHostsFile=/dev/null",
    "HashKnownHosts=no",
    "PreferredAuthentications=none",
    "PubkeyAuthentication=no",
    "ControlPath=none",
)
_RSA = "rsa-sha2-512,rsa-sha2-256"


def offered(options: SshOptions, kind: str = "") -> tuple[HostKey | None, str]:
    """The key that the server shows, of type `kind` if it is given; and what ssh said, which tells why not."""
    with tempfile.TemporaryDirectory(prefix="bringup-") as folder:
        command = _command(Path(folder), options, kind)
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SCAN_S,
                check=False,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            return None, f"timed out after {SCAN_S:g} s"
        return _first_key(Path(folder) / "known_hosts"), done.stderr


def _command(folder: Path, options: SshOptions, kind: str) -> list[str]:
    settings = [*_ASK, f"UserKnownHostsFile={folder}/known_hosts"]
    if kind:
        settings.append(f"HostKeyAlgorithms={_RSA if kind == 'ssh-rsa' else kind}")
    ask = [word for setting in settings for word in ("-o", setting)]
    return ["ssh", "-T", *strict_arguments(folder, options), *ask, "--", options.target, "true"]


def _first_key(path: Path) -> HostKey | None:
    words = path.read_text().split() if path.is_file() else []
    return HostKey(words[1], words[2]) if len(words) >= 3 else None
