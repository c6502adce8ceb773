"""Downloads: resumed, retried, verified; what is wrong is thrown away and never called by its name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from inventory.errors import CheckFailed
from playbooks.cargo import CargoFile
from playbooks.web import Web
from playbooks.wheelhouse.store import Store
from tests.unit.playbooks.served import Page, Site, serving

DATA = os.urandom(3_000_000)
QUICK = Web(wait_s=0.01, timeout_s=5)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        found.pages["/a.whl"] = Page(DATA)
        yield found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "files")


def wanted(site: Site, data: bytes = DATA) -> CargoFile:
    return CargoFile("a.whl", len(data), hashlib.sha256(data).hexdigest(), f"{site.url}/a.whl")


def fetch(store: Store, file: CargoFile) -> int:
    came: list[int] = []
    store.fetch([file], QUICK, came.append)
    return sum(came)


def test_a_file_comes_once(site: Site, store: Store) -> None:
    file = wanted(site)
    assert fetch(store, file) == len(DATA)
    assert store.path(file).read_bytes() == DATA
    assert fetch(store, file) == 0
    assert len(site.asked) == 1


def test_a_download_goes_on_where_it_was_cut_off(site: Site, store: Store) -> None:
    site.pages["/a.whl"].cut = 2
    file = wanted(site)
    assert fetch(store, file) >= len(DATA)
    assert store.path(file).read_bytes() == DATA
    assert [headers.get("range") for _, _, headers in site.asked] == [None, "bytes=1500000-", "bytes=2250000-"]


def test_a_server_that_cannot_resume_is_asked_for_all_of_it(site: Site, store: Store) -> None:
    site.ranges = False
    file = wanted(site)
    part = store.folder / file.sha256 / "a.whl.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 1000)
    fetch(store, file)
    assert store.path(file).read_bytes() == DATA


def test_a_mirror_with_another_file_is_refused_and_nothing_of_it_stays(site: Site, store: Store) -> None:
    file = wanted(site)
    site.pages["/a.whl"] = Page(DATA[:-1] + b"?")
    with pytest.raises(CheckFailed) as caught:
        fetch(store, file)
    assert caught.value.id == "checksum-mismatch"
    assert not store.has(file)
    assert not list(store.folder.rglob("*.part"))
    site.pages["/a.whl"] = Page(DATA)
    fetch(store, file)
    assert store.has(file)


def test_a_part_that_was_damaged_is_found_by_the_sum(site: Site, store: Store) -> None:
    file = wanted(site)
    part = store.folder / file.sha256 / "a.whl.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"damaged" + DATA[7:1000])
    with pytest.raises(CheckFailed, match="thrown away"):
        fetch(store, file)
    fetch(store, file)
    assert store.path(file).read_bytes() == DATA


@pytest.mark.parametrize("status", [404, 403, 500])
def test_a_file_that_is_not_given_is_named(site: Site, store: Store, status: int) -> None:
    site.pages["/a.whl"] = Page(b"no", status=status)
    with pytest.raises(CheckFailed) as caught:
        fetch(store, wanted(site))
    assert caught.value.id == "download-failed"
    assert f"HTTP {status}" in caught.value.observed


def test_more_than_the_disk_holds_is_refused_before_it_is_begun(site: Site, store: Store) -> None:
    with pytest.raises(CheckFailed) as caught:
        fetch(store, CargoFile("a.whl", 1 << 60, "0" * 64, f"{site.url}/a.whl"))
    assert caught.value.id == "control-space"
    assert not site.asked


def test_a_file_of_this_machine_stays_where_it_is(store: Store, tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(b"tar")
    own = CargoFile("image.tar", 3, hashlib.sha256(b"tar").hexdigest(), f"{tmp_path}/image.tar")
    assert fetch(store, own) == 0
    assert store.path(own) == tmp_path / "image.tar"
    (tmp_path / "image.tar").unlink()
    with pytest.raises(CheckFailed) as caught:
        fetch(store, own)
    assert caught.value.id == "download-failed"
