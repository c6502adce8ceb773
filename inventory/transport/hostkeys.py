"""Putting host keys on record, after somebody has seen their fingerprints.

`scan` shows what the machines on the way to a host offer; `trust` writes exactly the keys that were shown. A key that
contradicts the record is replaced only on demand.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BadInput, CheckFailed
from inventory.quoting import quote
from inventory.sshclient import print_config
from inventory.sshconfig import effective, route
from inventory.transport.keyscan import offered
from inventory.transport.knownhosts import HostKey, Record, record_of
from inventory.transport.replacefile import edited
from inventory.transport.sshfailure import explain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.schema import Host
    from inventory.sshconfig import SshOptions

KEYGEN_S = 10.0


class State(StrEnum):
    """How the keys that a machine offers compare with those on record."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Scanned:
    """One machine on the way to `host`: the keys that it offers and those on record for `name`."""

    host: str
    name: str
    keys: tuple[HostKey, ...]
    record: Record
    options: SshOptions

    @property
    def state(self) -> State:
        if not self.record.keys and not self.record.revoked:
            return State.UNKNOWN
        return State.KNOWN if all(map(self.record.accepts, self.keys)) else State.CHANGED


def scan(host: Host) -> Iterator[Scanned]:
    """Each machine on the way to `host`, its jump hosts first and itself last.

    A machine behind one whose key is not on record cannot be asked (`HostUnreachable`): `trust` each before you go
    on to the next.
    """
    if host.transport == "local":
        return
    target = effective(host)
    hops = route(target)
    for number, options in enumerate((*hops, target)):
        yield _scan_one(host, options, hops[:number])


def _scan_one(host: Host, options: SshOptions, before: tuple[SshOptions, ...]) -> Scanned:
    """Ask for the kinds of key that are on record, so that they can be compared, else for the preferred one."""
    record = record_of(options)
    known = {key.type for key in (*record.keys, *record.revoked)}
    found = [key for key in (offered(options, kind)[0] for kind in sorted(known)) if key]
    if not found:
        key, words = offered(options)
        if key is None:
            raise explain(words, host.name, options, before)
        found = [key]
    return Scanned(host.name, options.host_key_name, tuple(found), record, options)


def trust(scanned: Scanned, *, replace: bool = False) -> tuple[HostKey, ...]:
    """Put the keys of `scanned` on record in the user's known_hosts; returns those that were not there.

    Raises `CheckFailed` for a changed key without `replace`, and when another file still contradicts the key.
    """
    if scanned.state is State.KNOWN:
        return ()
    if scanned.state is State.CHANGED and not replace:
        raise _contradicted(scanned, scanned.record)
    file = _file(scanned)
    hashed = "\nhashknownhosts yes\n" in print_config(scanned.options.target, scanned.options.arguments)
    with edited(file, keep_old=replace) as draft:
        if replace:
            _keygen(draft, "-R", scanned.name)
        _append(draft, scanned, hashed=hashed)
    record = record_of(scanned.options)
    if not all(map(record.accepts, scanned.keys)):
        raise _contradicted(scanned, record)
    return tuple(key for key in scanned.keys if key not in scanned.record.keys)


def _append(draft: Path, scanned: Scanned, *, hashed: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="bringup-") as folder:
        added = Path(folder) / "added"
        added.write_text("".join(f"{scanned.name} {key.type} {key.base64}\n" for key in scanned.keys))
        if hashed:
            _keygen(added, "-H")
        before = draft.read_bytes()
        between = b"" if not before or before.endswith(b"\n") else b"\n"
        draft.write_bytes(before + between + added.read_bytes())


def _keygen(file: Path, *arguments: str) -> None:
    command = ["ssh-keygen", *arguments, "-f", str(file)]
    subprocess.run(command, check=True, capture_output=True, timeout=KEYGEN_S, stdin=subprocess.DEVNULL)
    file.with_name(file.name + ".old").unlink(missing_ok=True)


def _file(scanned: Scanned) -> Path:
    if not scanned.options.user_known_hosts_files:
        raise BadInput(
            "there is no file to put a host key into",
            id="known-hosts-file",
            observed="UserKnownHostsFile none",
            required="a UserKnownHostsFile in ssh_config for this host",
            next_command=f"ssh -G {quote(scanned.options.target)} | grep -i knownhosts",
            host=scanned.host,
        )
    return Path(scanned.options.user_known_hosts_files[0])


def _contradicted(scanned: Scanned, record: Record) -> CheckFailed:
    on_record = (*map(str, record.keys), *(f"revoked: {key}" for key in record.revoked))
    return CheckFailed(
        f"{scanned.name} shows another key than the one on record",
        id="host-key-changed",
        observed=", ".join(map(str, scanned.keys)),
        required=f"{', '.join(on_record)} ({', '.join(record.files)})",
        next_command=f"invoke hosts.trust --hosts {quote(scanned.host)} --replace",
        host=scanned.host,
    )
