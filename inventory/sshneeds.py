"""Why a host needs the OpenSSH client itself: what its configuration asks for and others lack."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LIMIT_BYTES = 4 << 20


def openssh_only(
    lines: Mapping[str, tuple[str, ...]],
    identity_files: tuple[str, ...],
    known_hosts: tuple[str, ...],
    server: tuple[str, int],
) -> tuple[str, ...]:
    """Name each setting that only OpenSSH follows, for the operator to read; empty when there is none.

    `lines` is what `ssh -G` printed; `server` the name and port under which host keys are looked up.
    """
    return (
        *_settings(lines),
        *_hardware_keys(identity_files),
        *_certificate_authorities(known_hosts, server),
    )


def _settings(lines: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for keyword, usual in (
        ("PKCS11Provider", {"none"}),
        ("SecurityKeyProvider", {"internal", "none"}),
        ("KnownHostsCommand", {"none"}),
        ("CertificateFile", {"none"}),
        ("ProxyCommand", {"none"}),
    ):
        for value in lines.get(keyword.lower(), ()):
            if value not in usual:
                yield f"{keyword} {value}"
    for value in lines.get("preferredauthentications", ()):
        if "gssapi" in value:  # Debian turns GSSAPIAuthentication on for everybody: only a preference is a wish
            yield f"PreferredAuthentications {value}"
    if "true" in lines.get("verifyhostkeydns", ()) or "yes" in lines.get("verifyhostkeydns", ()):
        yield "VerifyHostKeyDNS yes"


def _hardware_keys(identity_files: Iterable[str]) -> Iterator[str]:
    """A hardware key is a reason only when there is no other key: the defaults list both kinds."""
    there = [path for path in identity_files if Path(path).is_file()]
    if there and all(_is_hardware_key(path) for path in there):
        yield f"hardware key {there[0]}"


def _is_hardware_key(path: str) -> bool:
    return any(line.startswith("sk-") for name in (path, f"{path}.pub") for line in _text(name).splitlines()[:1])


def _certificate_authorities(known_hosts: Iterable[str], server: tuple[str, int]) -> Iterator[str]:
    name, port = server
    wanted = (name, f"[{name}]:{port}")
    for path in known_hosts:
        for line in _text(path).splitlines():
            words = line.split(maxsplit=2)
            if words[:1] == ["@cert-authority"] and len(words) > 1 and _matches(words[1], wanted):
                yield f"host certificates ({path})"
                break


def _matches(patterns: str, wanted: tuple[str, ...]) -> bool:
    each = patterns.split(",")
    refused = any(fnmatchcase(one, entry[1:]) for entry in each if entry.startswith("!") for one in wanted)
    return not refused and any(fnmatchcase(one, entry) for entry in each for one in wanted)


def _text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(_LIMIT_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
