"""A repository as dnf has it: what its files say, and who may read them."""

from __future__ import annotations

import pytest

from inventory.secret import Secret, Url
from playbooks.repositories.dnf import files
from playbooks.repositories.source import Login, Source
from tests.unit.playbooks.books.entries import entry
from tests.unit.playbooks.repositories.keys import FINGERPRINT, TEXT

URL = "https://mirror.example.com/amdgpu/el/9.6/main/x86_64/"


def source(login: Login | None = None, proxy: str | None = None) -> Source:
    return Source("amdgpu", URL.rstrip("/"), login, FINGERPRINT, TEXT, None if proxy is None else Url(proxy))


def test_the_key_is_a_file_of_the_host_and_every_package_must_be_signed() -> None:
    key, told = files(source(), URL, None)
    assert (key.text, key.mode) == (TEXT, "0644")
    lines = told.text.splitlines()
    assert lines[0] == "[bringup-amdgpu]"
    assert {"gpgcheck=1", f"gpgkey=file://{key.path}", f"baseurl={URL}", "enabled=1"} <= set(lines)
    assert not [line for line in lines if line.startswith(("proxy", "username", "password", "priority"))]


@pytest.mark.parametrize(
    ("login", "proxy", "line", "mode"),
    [
        (Login(URL, "me", Secret("p%s$x")), None, "password=p%s$x", "0600"),
        (None, "http://p:3128", "proxy=http://p:3128", "0644"),
        (None, "http://me:s@p:3128", "proxy=http://me:s@p:3128", "0600"),
        (None, "", "proxy=_none_", "0644"),
    ],
)
def test_passwords_are_in_a_file_that_root_alone_reads(
    login: Login | None, proxy: str | None, line: str, mode: str
) -> None:
    told = files(source(login, proxy), URL, 50)[-1]
    assert line in told.text.splitlines()
    assert "priority=50" in told.text.splitlines()
    assert told.mode == mode


def test_what_only_apt_has_is_refused() -> None:
    with pytest.raises(ValueError, match="no `suite`"):
        entry("repository", mirror="amdgpu", manager="dnf", suite="noble", components=("main",))
