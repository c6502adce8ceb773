"""From the inventory to what a step needs of a repository: the key is compared here, and what is wrong is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from inventory.schema import Host, Mirrors
from playbooks.repositories.resolve import Keys, sources_of
from playbooks.repositories.source import Source
from tests.unit.playbooks.repositories.keys import FINGERPRINT, KEY, OTHER, TEXT
from tests.unit.playbooks.served import Page, serving

URL = "https://mirror.example.com/cuda/repos/"


def host(key: str | None, fingerprint: str | None = FINGERPRINT, url: str = URL, **fields: Any) -> Host:  # noqa: ANN401
    said = {"url": url, "key": key, "fingerprint": fingerprint}
    mirrors = TypeAdapter(Mirrors).validate_python({"cuda": said})
    return TypeAdapter(Host).validate_python({"name": "h1", "mirrors": mirrors, **fields})


def source(one: Host, tmp_path: Path, name: str = "cuda") -> Source:
    return sources_of(one, [name], Keys(tmp_path / "kept"))[name]


@pytest.fixture
def key(tmp_path: Path) -> str:
    (tmp_path / "key.asc").write_text(TEXT)
    return str(tmp_path / "key.asc")


def test_a_key_of_this_machine(key: str, tmp_path: Path) -> None:
    found = source(host(key, " ".join(FINGERPRINT[at : at + 4] for at in range(0, 40, 4)).lower()), tmp_path)
    assert found == Source("cuda", URL.rstrip("/"), None, FINGERPRINT, TEXT)


def test_a_user_and_a_password_stay_out_of_the_address(key: str, tmp_path: Path) -> None:
    found = source(host(key, url="https://me:s%40x@mirror.example.com:8443/cuda"), tmp_path)
    assert found.url == "https://mirror.example.com:8443/cuda"
    assert found.login
    assert (found.login.at, found.login.user, found.login.password.reveal()) == (found.url, "me", "s@x")
    assert "s@x" not in repr(found)


@pytest.mark.parametrize(
    ("fields", "proxy"),
    [
        ({}, None),
        ({"proxy": "http://p:3128"}, "http://p:3128"),
        ({"proxy": "http://p:3128", "no_proxy": (".example.com",)}, ""),
    ],
)
def test_the_proxy_is_the_inventorys(key: str, tmp_path: Path, fields: dict[str, Any], proxy: str | None) -> None:
    found = source(host(key, **fields), tmp_path).proxy
    assert (None if found is None else found.reveal()) == proxy


@pytest.mark.parametrize(
    ("data", "id_"),
    [
        (OTHER, "repository-key-other"),
        (KEY + OTHER, "repository-key-other"),
        (b"<html>", "repository-key-unreadable"),
        (None, "repository-key-unreadable"),
    ],
)
def test_another_key_is_refused_by_name(tmp_path: Path, data: bytes | None, id_: str) -> None:
    file = tmp_path / "key"
    if data is not None:
        file.write_bytes(data)
    found = source(host(str(file)), tmp_path)
    assert found.problem
    assert found.problem[0] == id_
    assert found.key == "", "nothing of it can be used"


@pytest.mark.parametrize(
    ("one", "name", "id_"),
    [
        (host(None), "cuda", "repository-key-missing"),
        (host("~/x", None), "cuda", "repository-key-missing"),
        (host("~/x"), "rocm", "repository-unknown"),
        (host("~/x", url="https://a:b%20c@m/x"), "cuda", "repository-unknown"),
    ],
)
def test_what_the_inventory_does_not_say(one: Host, name: str, id_: str, tmp_path: Path) -> None:
    found = source(one, tmp_path, name)
    assert found.problem
    assert found.problem[0] == id_


def test_a_short_id_pins_nothing() -> None:
    with pytest.raises(ValueError, match="1 validation error"):
        host("~/x", FINGERPRINT[-16:])


def test_an_address_alone_is_the_short_form() -> None:
    mirrors = TypeAdapter(Mirrors).validate_python({"cuda": URL})
    assert mirrors.cuda is not None
    assert mirrors.cuda.url.reveal() == URL
    assert list(mirrors.repositories) == ["cuda"]


def test_a_key_is_fetched_once_and_kept_by_its_fingerprint(tmp_path: Path) -> None:
    with serving() as site:
        site.pages["/key.asc"] = Page(TEXT.encode())
        one = host(f"{site.url}/key.asc", no_proxy=("127.0.0.1",), proxy="http://p:1")
        assert source(one, tmp_path).key == TEXT
        site.pages["/key.asc"] = Page(OTHER)
        assert source(one, tmp_path).key == TEXT, "kept"
        (tmp_path / "kept" / f"{FINGERPRINT}.asc").write_bytes(OTHER)
        found = source(one, tmp_path)
        assert found.problem, "what is kept is compared too"
        assert found.problem[0] == "repository-key-other"
        site.pages.clear()
        assert "HTTP 404" in str(source(one, tmp_path).problem)
