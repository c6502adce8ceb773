"""The wheel of each pin, from real HTTP servers on loopback and from folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from inventory.errors import BringupError, CheckFailed, Several
from playbooks.web import Web
from playbooks.wheelhouse.index import Index, read_html
from playbooks.wheelhouse.lock import Pin
from playbooks.wheelhouse.resolve import resolve
from playbooks.wheelhouse.target import Target
from tests.unit.playbooks.served import Page, Site, serving

TARGET = Target(12, "x86_64", (2, 35))
JSON = "application/vnd.pypi.simple.v1+json"
QUICK = Web(wait_s=0.01, timeout_s=5)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


def sum_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def offer(site: Site, name: str, *files: str, sized: bool = True, kind: str = JSON) -> None:
    """An index's page of a distribution; the content of a file is its own name."""
    for file in files:
        site.pages[f"/files/{file}"] = Page(file.encode())
    if kind == JSON:
        told = [
            {"filename": file, "url": f"../../files/{file}", "hashes": {"sha256": sum_of(file)}}
            | ({"size": len(file)} if sized else {})
            for file in files
        ]
        body = json.dumps({"meta": {"api-version": "1.1"}, "files": told})
    else:
        body = "".join(f'<a href="../../files/{file}#sha256={sum_of(file)}">{file}</a>' for file in files)
    site.pages[f"/simple/{name}/"] = Page(body.encode(), kind=kind)


def pin(name: str, version: str, *files: str) -> Pin:
    return Pin(name, version, hashes=frozenset(map(sum_of, files)))


@pytest.mark.parametrize("kind", [JSON, "text/html"])
@pytest.mark.parametrize("sized", [True, False])
def test_the_best_file_of_the_lock_is_taken_with_its_size(site: Site, kind: str, *, sized: bool) -> None:
    ours = "a_b-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    offer(site, "a-b", "a_b-1.0-py3-none-any.whl", ours, "a_b-2.0-py3-none-any.whl", sized=sized, kind=kind)
    (found,) = resolve(
        [pin("a-b", "1.0", "a_b-1.0-py3-none-any.whl", ours)], TARGET, [Index(f"{site.url}/simple", QUICK)]
    )
    assert (found.name, found.sha256, found.size) == (ours, sum_of(ours), len(ours))
    assert found.origin == f"{site.url}/files/{ours}"


def test_a_file_with_another_sum_than_the_lock_is_never_taken(site: Site) -> None:
    offer(site, "a", "a-1.0-py3-none-any.whl")
    with pytest.raises(CheckFailed) as caught:
        resolve([pin("a", "1.0", "another file")], TARGET, [Index(f"{site.url}/simple/", QUICK)])
    assert caught.value.id == "wheel-missing"
    assert "another sha256" in caught.value.observed


def test_all_that_is_missing_is_told_at_once(site: Site) -> None:
    offer(site, "a", "a-1.0-cp311-cp311-manylinux_2_28_x86_64.whl")
    with pytest.raises(Several) as caught:
        resolve([pin("a", "1.0", "x"), pin("b", "1", "y")], TARGET, [Index(f"{site.url}/simple/", QUICK)])
    assert [one.message.split()[6] for one in caught.value.errors] == ["a==1.0", "b==1"]
    assert "cp311" in caught.value.errors[0].observed


def test_the_next_index_is_asked_for_what_the_first_does_not_have(site: Site, tmp_path: Path) -> None:
    wheel = "c-1.0+cpu-py3-none-any.whl"
    (tmp_path / wheel).write_text("wheel")
    (found,) = resolve([Pin("c", "1.0+cpu")], TARGET, [Index(f"{site.url}/simple", QUICK), Index(str(tmp_path), QUICK)])
    assert (found.origin, found.sha256, found.size) == (f"{tmp_path}/{wheel}", sum_of("wheel"), 5)


def test_an_index_that_fails_for_a_moment_is_asked_again(site: Site) -> None:
    offer(site, "a", "a-1.0-py3-none-any.whl")
    site.pages["/simple/a/"].fails = 2
    assert resolve([pin("a", "1.0", "a-1.0-py3-none-any.whl")], TARGET, [Index(f"{site.url}/simple", QUICK)])


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"files": [{}]}', b"\xff\xfe"])
def test_an_index_that_answers_nonsense_is_named(site: Site, body: bytes) -> None:
    site.pages["/simple/a/"] = Page(body, kind=JSON)
    with pytest.raises(BringupError) as caught:
        resolve([pin("a", "1.0", "x")], TARGET, [Index(f"{site.url}/simple", QUICK)])
    assert caught.value.id == "download-failed"


def test_an_index_that_nobody_runs_is_named_without_its_password() -> None:
    with pytest.raises(CheckFailed) as caught:
        resolve([pin("a", "1", "x")], TARGET, [Index("http://me:secret@127.0.0.1:9/simple", QUICK)])
    assert "secret" not in str(caught.value)
    assert "127.0.0.1:9" in str(caught.value)


def test_a_password_goes_to_its_own_server_only(site: Site) -> None:
    page = f"{site.url.replace('//', '//me:secret@')}/simple/a/"
    body = f'<a href="/f/a-1-py3-none-any.whl#sha256={"0" * 64}">a</a><a href="http://other.test/b.whl">b</a>'
    own, other = read_html(body.encode(), page)
    assert own.url.startswith("http://me:secret@")
    assert other.url == "http://other.test/b.whl"
    offer(site, "a", "a-1-py3-none-any.whl")
    resolve([pin("a", "1", "a-1-py3-none-any.whl")], TARGET, [Index(page.removesuffix("a/"), QUICK)])
    assert site.asked[-1][2]["authorization"].startswith("Basic ")


def test_yanked_files_are_not_offered() -> None:
    (found,) = read_html(b'<a href="a.whl" data-yanked="">a</a><a href="b.whl">b</a>', "http://x.test/simple/a/")
    assert found.name == "b.whl"
