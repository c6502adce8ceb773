"""The kind `repository`: what apt would be given, and what is refused before a host is changed."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from inventory.errors import CheckFailed
from inventory.secret import Secret, Url
from playbooks.entry import At
from playbooks.plan import Step, changes_for
from playbooks.repositories import apt
from playbooks.repositories.source import Login, Source
from tests.unit.playbooks.books.entries import entry
from tests.unit.playbooks.repositories.keys import FINGERPRINT, TEXT
from tests.unit.playbooks.sh import sh

PLAIN = Source("cuda", "https://mirror.example.com/cuda", None, FINGERPRINT, TEXT)


def made(source: Source | None, **fields: object) -> Step:
    one = entry("repository", **{"mirror": "cuda", **fields})
    return one.step(At(playbook="b", state_dir="/var/lib/bringup", sources={"cuda": source} if source else {}))


def files(source: Source, **fields: object) -> dict[str, str]:
    wanted = {"suite": "/", "components": (), "priority": None, **fields}
    placed = apt.files(apt.Repository(source, f"{source.url}/x/", **wanted))  # type: ignore[arg-type]
    return {one.path.rpartition("/")[0].rpartition("/")[2]: one.text for one in placed}


def test_a_flat_repository_trusts_its_own_key_alone() -> None:
    found = files(PLAIN)
    assert found["sources.list.d"].splitlines()[1:] == [
        "Types: deb",
        "URIs: https://mirror.example.com/cuda/x/",
        "Suites: /",
        "Signed-By: /etc/apt/keyrings/bringup-cuda.asc",
    ]
    assert found["keyrings"] == TEXT
    assert {found["auth.conf.d"], found["apt.conf.d"], found["preferences.d"]} == {""}


def test_a_repository_with_suites_and_a_preference() -> None:
    found = files(PLAIN, suite="noble", components=("main", "extra"), priority=600)
    assert "Suites: noble\nComponents: main extra\n" in found["sources.list.d"]
    assert 'Pin: origin "mirror.example.com"\nPin-Priority: 600\n' in found["preferences.d"]


@pytest.mark.parametrize(("proxy", "said"), [("http://p:3128", '"http://p:3128"'), ("", '"DIRECT"')])
def test_a_proxy_is_for_this_server_alone(proxy: str, said: str) -> None:
    found = files(Source("cuda", "https://m/c", None, FINGERPRINT, TEXT, Url(proxy)))["apt.conf.d"]
    assert found == f"Acquire::http::Proxy::m {said};\nAcquire::https::Proxy::m {said};\n"


def test_a_password_is_for_root_alone_and_not_in_the_source() -> None:
    login = Login("https://m/c", "me", Secret("s3cret"))
    placed = apt.files(apt.Repository(Source("cuda", "https://m/c", login), "https://m/c/", "/", (), None))
    (secret,) = [one for one in placed if "s3cret" in one.text]
    assert (secret.mode, secret.path) == ("0600", "/etc/apt/auth.conf.d/bringup-cuda.conf")
    step = made(Source("cuda", "https://m/c", login, FINGERPRINT, TEXT))
    assert "s3cret" not in step.probe + step.summary + step.wanted


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"suite": "noble"}, "components"),
        ({"components": ["main"]}, "components"),
        ({"folder": "/x"}, "no / at its ends"),
        ({"folder": "x y"}, "no / at its ends"),
        ({"mirror": "other"}, "cuda"),
        ({"suite": "$(id)", "components": ["a"]}, "suite"),
    ],
)
def test_unfit_entries(fields: dict[str, object], what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        made(PLAIN, **fields)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (None, "repository-unknown"),
        (Source("cuda", problem=("repository-key-other", "it's $HOME")), "repository-key-other"),
    ],
)
def test_what_the_inventory_lacks_is_refused_without_asking_the_host(source: Source | None, name: str) -> None:
    step = made(source)
    with pytest.raises(CheckFailed) as caught:
        changes_for("h", [step], {step.id: sh(step.probe).stdout})
    assert caught.value.id == name
    assert source is None or "it's $HOME" in caught.value.observed
    assert "HOST" not in caught.value.next_command
