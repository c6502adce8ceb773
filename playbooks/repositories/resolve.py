"""What the inventory says of a host's repositories, with the keys that they name read or fetched here and compared.

A key is compared with its pinned fingerprint before any host sees it. What is wrong with a source is kept in it: only
hosts where an entry counts refuse for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.secret import Url
from playbooks.repositories.openpgp import MOST_BYTES, NoKey, read_key
from playbooks.repositories.source import Source, without_login
from playbooks.web import StatusError, Web, shown, within

if TYPE_CHECKING:
    from inventory.schema import Host, Repository


class Keys:
    """Reads each key once. `kept`: where fetched ones stay, by fingerprint."""

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        self._found: dict[tuple[str, str], bytes] = {}

    def read(self, place: str, fingerprint: str, web: Web) -> bytes:
        """Raises `OSError`, `StatusError` or `BringupError`."""
        if (place, fingerprint) not in self._found:
            self._found[place, fingerprint] = self._read(place, fingerprint, web)
        return self._found[place, fingerprint]

    def _read(self, place: str, fingerprint: str, web: Web) -> bytes:
        if "://" not in place:
            with Path(place).expanduser().open("rb") as stream:
                return stream.read(MOST_BYTES + 1)
        file = self._kept / f"{fingerprint}.asc"
        if file.is_file() and _is(file.read_bytes(), fingerprint):
            return file.read_bytes()
        data = web.read(place).body
        if _is(data, fingerprint):
            self._kept.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = file.with_suffix(".new")
            new.write_bytes(data)
            new.replace(file)
        return data


def sources_of(host: Host, names: Iterable[str], keys: Keys) -> Mapping[str, Source]:
    """What `names` are on this host, by name. Raises nothing: see `Source.problem`."""
    return {name: _source(name, host.mirrors.repositories.get(name), host, keys) for name in names}


def _source(name: str, said: Repository | None, host: Host, keys: Keys) -> Source:
    if said is None:
        return Source(name, problem=("repository-unknown", f"mirrors: {name}: is not in the inventory"))
    if said.fingerprint is None or said.key is None:
        missing = "fingerprint" if said.fingerprint is None else "key"
        return Source(name, problem=("repository-key-missing", f"mirrors: {name}: has no {missing}:"))
    url, login = without_login(said.url)
    if login and any(word.isspace() for word in login.user + login.password.reveal()):
        return Source(
            name, problem=("repository-unknown", f"mirrors: {name}: a password with blanks, which apt cannot have")
        )
    try:
        key = _pinned(said.key, said.fingerprint, host, keys)
    except _Unusable as error:
        return Source(name, problem=(error.id, f"{name}: {shown(said.key)} {error}"))
    return Source(name, url, login, said.fingerprint, key, _proxy(url, host))


class _Unusable(Exception):
    """A key that cannot be used: `id` of the refusal, and why."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(why)
        self.id = name


def _pinned(place: str, fingerprint: str, host: Host, keys: Keys) -> str:
    """The key, armored, if it is the pinned one."""
    web = Web(host.proxy.reveal() if host.proxy else None, host.no_proxy)
    try:
        key = read_key(keys.read(place, fingerprint, web))
    except StatusError as error:
        raise _Unusable("repository-key-unreadable", f"answers HTTP {error.status}") from None
    except BringupError as error:
        raise _Unusable("repository-key-unreadable", f"cannot be fetched: {error.observed}") from None
    except (OSError, NoKey) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _Unusable("repository-key-unreadable", f"cannot be used: {why}") from None
    if key.fingerprints != (fingerprint,):
        raise _Unusable("repository-key-other", f"holds {', '.join(key.fingerprints)}, pinned is {fingerprint}")
    return key.armored


def _proxy(url: str, host: Host) -> Url | None:
    if host.proxy is None:
        return None
    server = Source("", url).server
    return Url("") if any(within(server, one) for one in host.no_proxy) else host.proxy


def _is(data: bytes, fingerprint: str) -> bool:
    try:
        return read_key(data).fingerprints == (fingerprint,)
    except NoKey:
        return False
