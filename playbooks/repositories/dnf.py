"""A repository as dnf reads it: its source with password and proxy, and its key, as files. Pure.

Every package must be signed by a key that rpm knows, and dnf takes this one up with the first package. rpm has one ring
of keys for all: nothing binds a key to its source, as apt does.
"""

from __future__ import annotations

from playbooks.repositories.source import ROOT, WORLD, Placed, Source


def source_file(name: str) -> str:
    return f"/etc/yum.repos.d/bringup-{name}.repo"


def files(source: Source, url: str, priority: int | None) -> tuple[Placed, ...]:
    """All of them, the source itself at the end. `priority`: dnf's, 99 is what all have, and the lower number wins."""
    key = f"/etc/pki/rpm-gpg/bringup-{source.name}.asc"
    said = {
        "name": f"{source.name} of the inventory of bringup",
        "baseurl": url,
        "enabled": "1",
        "gpgcheck": "1",
        "gpgkey": f"file://{key}",
        "skip_if_unavailable": "0",
        "priority": None if priority is None else str(priority),
        "proxy": None if source.proxy is None else source.proxy.reveal() or "_none_",
        "username": source.login.user if source.login else None,
        "password": source.login.password.reveal() if source.login else None,
    }
    text = "".join(f"{name}={value}\n" for name, value in said.items() if value is not None)
    secret = source.login is not None or "@" in (said["proxy"] or "")
    return (
        Placed(key, source.key),
        Placed(source_file(source.name), f"[bringup-{source.name}]\n{text}", ROOT if secret else WORLD),
    )
