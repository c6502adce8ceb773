"""What a hub answers about a revision becomes a manifest or a named reason: the real client, a hub of ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from inventory.errors import CheckFailed
from inventory.secret import Secret, Url
from launch.prefetch import hub as hubs
from launch.prefetch import modelscope
from tests.hub import Hub, Slip, blob_id, made_files, serving, sha256
from tests.unit.playbooks.served import Page
from tests.unit.playbooks.served import serving as serving_pages

REPO = "made/up"
FILES = made_files(100_000, 2)
TOKEN = "hf_right"  # noqa: S105  (of no hub)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr("launch.prefetch.hub.time.sleep", lambda _: None)
    with serving() as one:
        one.add(REPO, FILES)
        yield one


def refused(hub: Hub, revision: str = "main", repo: str = REPO, **more: Secret) -> CheckFailed:
    with pytest.raises(CheckFailed) as caught:
        hubs.resolve(repo, revision, endpoint=Url(hub.url), **more)
    return caught.value


def test_a_branch_becomes_a_commit_with_every_file_its_size_and_a_sum(hub: Hub) -> None:
    manifest = hubs.resolve(REPO, "main", endpoint=Url(hub.url))
    assert manifest.commit == hub.repos[REPO].main
    assert manifest.sizes == {path: len(data) for path, data in FILES.items()}
    for one in manifest.files:
        data = FILES[one.path]
        assert (one.sha256, one.git_sha1) in {(sha256(data), None), (None, blob_id(data))}


def test_the_branch_may_move_the_commit_stays(hub: Hub) -> None:
    first = hub.repos[REPO].main
    hub.add(REPO, {**FILES, "config.json": b"other"})
    assert hubs.resolve(REPO, first, endpoint=Url(hub.url)).sizes["config.json"] == len(FILES["config.json"])


def test_what_a_hub_refuses_is_named(hub: Hub) -> None:
    assert refused(hub, "a" * 40).id == "hub-revision-gone"
    assert refused(hub, repo="no/such").id == "hub-unauthorized"
    hub.repos[REPO].gated = True
    assert refused(hub).id == "hub-gated"


def test_a_wrong_token_is_named_and_never_shown(hub: Hub) -> None:
    hub.repos[REPO].token = TOKEN
    wrong = refused(hub, token=Secret("hf_wrong"))
    assert wrong.id == "hub-unauthorized"
    assert "hf_wrong" not in str(wrong)
    assert hubs.resolve(REPO, "main", endpoint=Url(hub.url), token=Secret(TOKEN)).files


def test_what_passes_is_asked_again_and_what_stays_is_named(hub: Hub) -> None:
    hub.slips["/api/models/"] = Slip("status", times=3, status=429, headers={"Retry-After": "1"})
    assert hubs.resolve(REPO, "main", endpoint=Url(hub.url)).files
    hub.slips["/api/models/"] = Slip("status", times=99, status=429)
    assert refused(hub).id == "hub-rate-limited"
    hub.slips["/api/models/"] = Slip("status", times=99, status=502)
    assert refused(hub).id == "hub-unavailable"


def test_a_hub_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(CheckFailed) as caught:
        hubs.resolve(REPO, "main", endpoint=Url("http://user:word@127.0.0.1:9"))
    assert caught.value.id == "hub-unreachable"
    assert "word" not in str(caught.value)


def test_a_listing_that_leaves_the_folder_is_refused(hub: Hub) -> None:
    hub.add(REPO, {**FILES, "../../etc/cron.d/x": b"no"})
    assert refused(hub).id == "hub-listing"


def test_modelscope_tells_sums_and_addresses_of_all_files() -> None:
    with serving_pages() as site:
        listing = (
            b'{"Code":200,"Data":{"Files":[{"Type":"tree","Path":"d","Size":0,"Sha256":""},'
            b'{"Type":"blob","Path":"d/w b","Size":3,"Sha256":"' + b"a" * 64 + b'"}]}}'
        )
        site.pages["/api/v1/models/o/r/repo/files?Revision=master&Recursive=true"] = Page(listing)
        manifest = modelscope.resolve("o/r", "c" * 40, endpoint=site.url)
        assert manifest.sizes == {"d/w b": 3}
        assert manifest.is_sealed
        urls = modelscope.urls_of(manifest, endpoint=site.url)
        assert urls["d/w b"] == f"{site.url}/api/v1/models/o/r/repo?Revision=master&FilePath=d%2Fw%20b"
        with pytest.raises(CheckFailed) as caught:
            modelscope.resolve("o/none", "c" * 40, endpoint=site.url)
        assert caught.value.id == "hub-not-found"
