"""A repository as apt reads it: its source, key, password, proxy and preference, as files. Pure.

Nothing else on the host may use the key: `Signed-By` binds it to this source alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from playbooks.repositories.source import ROOT, WORLD, Placed, Source


@dataclass(frozen=True, slots=True)
class Repository:
    """`url` with its folder. `suite` ends in / where the repository is flat; it has no components then."""

    source: Source
    url: str
    suite: str
    components: Sequence[str]
    priority: int | None


def source_file(name: str) -> str:
    return f"/etc/apt/sources.list.d/bringup-{name}.sources"


def files(one: Repository) -> tuple[Placed, ...]:
    """All of them, the source itself at the end."""
    name = one.source.name
    login, proxy = _login(one), _proxy(one.source)
    return (
        Placed(_key_file(name), one.source.key),
        Placed(f"/etc/apt/auth.conf.d/bringup-{name}.conf", login, ROOT),
        Placed(f"/etc/apt/apt.conf.d/90-bringup-{name}", proxy, ROOT if "@" in proxy else WORLD),
        Placed(f"/etc/apt/preferences.d/bringup-{name}", _preference(one)),
        Placed(source_file(name), _source(one)),
    )


def _key_file(name: str) -> str:
    return f"/etc/apt/keyrings/bringup-{name}.asc"


def _source(one: Repository) -> str:
    components = f"Components: {' '.join(one.components)}\n" if one.components else ""
    return (
        f"# bringup, mirrors: {one.source.name}: of the inventory\n"
        f"Types: deb\nURIs: {one.url}\nSuites: {one.suite}\n{components}Signed-By: {_key_file(one.source.name)}\n"
    )


def _login(one: Repository) -> str:
    login = one.source.login
    return f"machine {login.at}\nlogin {login.user}\npassword {login.password.reveal()}\n" if login else ""


def _proxy(source: Source) -> str:
    """For this server alone: what the host is set up for stays for all others."""
    if source.proxy is None:
        return ""
    proxy = source.proxy.reveal() or "DIRECT"
    return "".join(f'Acquire::{scheme}::Proxy::{source.server} "{proxy}";\n' for scheme in ("http", "https"))


def _preference(one: Repository) -> str:
    if one.priority is None:
        return ""
    return f'Package: *\nPin: origin "{one.source.server}"\nPin-Priority: {one.priority}\n'
