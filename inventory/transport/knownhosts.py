"""Host keys on record, and the refusal of those that are not.

known_hosts files are searched by `ssh-keygen -F`, so hashed names, patterns and markers mean here what they mean to
OpenSSH.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import HostUnreachable
from inventory.quoting import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.sshconfig import SshOptions

SEARCH_S = 10.0


@dataclass(frozen=True, slots=True)
class HostKey:
    """A public key as known_hosts writes it; two are equal when type and key are."""

    type: str
    base64: str

    @property
    def fingerprint(self) -> str:
        """`SHA256:...` as ssh prints it."""
        return "SHA256:" + b64encode(hashlib.sha256(b64decode(self.base64)).digest()).decode().rstrip("=")

    def __str__(self) -> str:
        return f"{self.type} {self.fingerprint}"


@dataclass(frozen=True, slots=True)
class Record:
    """What known_hosts files say of one server. `files`: those that were read and exist; `lines`: `FILE:LINE`."""

    keys: tuple[HostKey, ...] = ()
    revoked: tuple[HostKey, ...] = ()
    files: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    def accepts(self, key: HostKey) -> bool:
        return key in self.keys and key not in self.revoked


def record_of(options: SshOptions) -> Record:
    """Read the known_hosts files of `options` for its host, the user's and the global ones."""
    wanted = (*options.user_known_hosts_files, *options.global_known_hosts_files)
    files = tuple(path for path in wanted if Path(path).is_file())
    found = [entry for path in files for entry in _search(options.host_key_name, path)]
    return Record(
        keys=tuple(key for marker, key, _ in found if not marker),
        revoked=tuple(key for marker, key, _ in found if marker == "@revoked"),
        files=files,
        lines=tuple(dict.fromkeys(line for _, _, line in found)),
    )


def _search(name: str, path: str) -> Iterator[tuple[str, HostKey, str]]:
    """Marker, key and `FILE:LINE` of each entry for `name`."""
    command = ["ssh-keygen", "-F", name, "-f", path]
    done = subprocess.run(command, capture_output=True, timeout=SEARCH_S, check=False, text=True)
    place = path
    for line in done.stdout.splitlines():
        if at := re.match(r"# Host .* found: line (\d+)", line):
            place = f"{path}:{at[1]}"
        words = line.split()
        marker = words.pop(0) if line.startswith("@") else ""
        if len(words) >= 3 and not line.startswith("#"):
            yield marker, HostKey(words[1], words[2]), place


def refused(observed: str, record: Record, host: str, options: SshOptions, *, hop: bool = False) -> HostUnreachable:
    """The error for a key that `record` does not accept: `observed` is its type and fingerprint."""
    who = f"jump host {options.target}" if hop else "the host"
    where = ", ".join(record.files or options.user_known_hosts_files[:1])
    at = ", ".join(record.lines) or where
    trust = f"invoke hosts.trust --hosts {quote(host)}"
    if not record.keys and not record.revoked and not record.lines:
        return HostUnreachable(
            f"{who} has no key on record",
            id="host-key-unknown",
            observed=observed,
            required=f"a key of {options.host_key_name} in {where}",
            next_command=trust,
            host=host,
        )
    return HostUnreachable(
        f"{who} shows another key than the one on record: it was installed anew, or another machine answers",
        id="host-key-changed",
        observed=observed,
        required=f"{', '.join(map(str, record.keys)) or 'the recorded key, not revoked'} ({at})",
        next_command=trust,
        host=host,
    )
