"""Names, registries and archives of images; the registry is a real HTTP server on loopback."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import BadInput, BringupError, CheckFailed
from playbooks.images.archive import read_archive
from playbooks.images.image import layers_digest
from playbooks.images.reference import parse_digest, parse_reference
from playbooks.images.registry import INDEXES, MANIFESTS, Registry
from playbooks.web import Web
from tests.unit.playbooks.images.archives import LAYERS, config, docker_save, oci, write_tar
from tests.unit.playbooks.served import Page, Site, serving

AMD64, ARM64 = "linux/amd64", "linux/arm64"
SUM = "sha256:" + "c" * 64


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("vllm/vllm-openai:kimi-k31", (None, "vllm/vllm-openai", "kimi-k31", None)),
        ("vllm", (None, "vllm", None, None)),
        ("reg.example:5000/a/b/c:1.0_x", ("reg.example:5000", "a/b/c", "1.0_x", None)),
        ("localhost/a", ("localhost", "a", None, None)),
        (f"a/b@{SUM}", (None, "a/b", None, SUM)),
        (f"[::1]:5000/a:t@{SUM}", ("[::1]:5000", "a", "t", SUM)),
    ],
)
def test_names_are_read_as_docker_reads_them(text: str, parts: tuple[str | None, ...]) -> None:
    found = parse_reference(text)
    assert (found.registry, found.repository, found.tag, found.digest) == parts
    assert str(found) == text


@pytest.mark.parametrize(
    "text",
    ["", "A/b", "a b", "a:", "-a", "a/$(id)", "a@sha256:12", "reg.example/", "http://a/b", "a'b", "a\nb", "../a"],
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_reference(text)
    assert caught.value.id == "image-name"


@pytest.mark.parametrize(
    ("text", "moves"),
    [("a:latest", True), ("a", True), ("a:nightly", True), ("a:cu129-nightly", True), ("a:latest-x86_64", True),
     ("a:kimi-k31", False), ("a:v0.33.0", False), ("a:mainline-1", False)],
)  # fmt: skip
def test_tags_that_name_another_build_tomorrow(text: str, moves: bool) -> None:  # noqa: FBT001
    assert parse_reference(text).moves is moves


def test_a_mirror_stands_in_for_every_registry() -> None:
    assert str(parse_reference("a/b:t").mirrored("reg.example:5000/cache")) == "reg.example:5000/cache/a/b:t"
    assert str(parse_reference("other.example/a:t").mirrored("reg.example")) == "reg.example/a:t"
    assert str(parse_reference("a:t").mirrored(None)) == "a:t"


def test_digests() -> None:
    assert parse_digest("c" * 64) == parse_digest(SUM) == SUM
    with pytest.raises(BadInput):
        parse_digest("sha256:12")


def digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


class Simple:
    """A registry that holds one repository `a/b`."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.registry = Registry(site.url.removeprefix("http://"), Web(wait_s=0.01, timeout_s=5))

    def put(self, kind: str, document: dict[str, Any], *names: str, media: str = MANIFESTS[0]) -> str:
        body = json.dumps(document).encode()
        for name in (*names, digest(body)):
            self.site.pages[f"/v2/a/b/{kind}/{name}"] = Page(body, kind=media)
        return digest(body)

    def image(self, machine: str, *names: str) -> str:
        inner = self.put("blobs", config(machine))
        sizes = [{"size": 1000}, {"size": 234}]
        return self.put("manifests", {"config": {"digest": inner}, "layers": sizes}, *names)

    def index(self, *names: str) -> str:
        entries = [
            {"digest": self.image(machine), "platform": {"os": "linux", "architecture": machine}}
            for machine in ("amd64", "arm64")
        ]
        entries.append({"digest": SUM, "platform": {"os": "unknown", "architecture": "unknown"}})
        return self.put("manifests", {"manifests": entries}, *names, media=INDEXES[0])

    def look(self, name: str = "a/b:t", platform: str = ARM64) -> Any:  # noqa: ANN401
        return self.registry.look(parse_reference(name), platform)


@pytest.fixture
def simple() -> Iterator[Simple]:
    with serving() as site:
        yield Simple(site)


def test_a_tag_of_many_platforms_gives_the_digest_of_the_index(simple: Simple) -> None:
    wanted = simple.index("t")
    seen = simple.look()
    assert (seen.digest, seen.platforms, seen.compressed_bytes, seen.layers) == (wanted, (AMD64, ARM64), 1234, LAYERS)
    assert simple.look(f"a/b@{wanted}").digest == wanted


def test_a_platform_that_is_not_there_is_left_to_the_check(simple: Simple) -> None:
    simple.index("t")
    assert simple.look(platform="linux/s390x").platforms == (AMD64, ARM64)


def test_a_single_image_tells_its_own_platform(simple: Simple) -> None:
    wanted = simple.image("arm64", "t")
    seen = simple.look(platform=AMD64)
    assert (seen.digest, seen.platforms) == (wanted, (ARM64,))


def test_a_token_is_fetched_where_the_registry_says(simple: Simple) -> None:
    simple.index("t")
    pages = dict(simple.site.pages)

    def answers(_method: str, path: str, headers: dict[str, str]) -> Page | None:
        if path.startswith("/token"):
            assert path == "/token?service=s&scope=repository%3Aa%2Fb%3Apull"
            return Page(b'{"token": "T"}', kind="application/json")
        if headers.get("authorization") == "Bearer T":
            return pages.get(path)
        challenge = f'Bearer realm="{simple.site.url}/token",service="s",scope="x"'
        return Page(b"", status=401, headers={"WWW-Authenticate": challenge})

    simple.site.answers = answers
    assert simple.look().layers == LAYERS
    assert simple.site.asked_paths().count("/token?service=s&scope=repository%3Aa%2Fb%3Apull") == 1


@pytest.mark.parametrize("challenge", ["", 'Basic realm="x"', 'Bearer realm="file:///etc/passwd"'])
def test_a_registry_for_friends_only_is_named(simple: Simple, challenge: str) -> None:
    simple.site.answers = lambda *_: Page(b"", status=401, headers={"WWW-Authenticate": challenge})
    with pytest.raises(CheckFailed) as caught:
        simple.look()
    assert caught.value.id == "image-login"


def test_too_many_questions_are_asked_again_after_as_long_as_it_wants(simple: Simple) -> None:
    simple.index("t")
    page = simple.site.pages["/v2/a/b/manifests/t"]
    page.fails, page.fails_with, page.headers = 2, 429, {"Retry-After": "0"}
    assert simple.look().layers == LAYERS
    page.fails = 99
    with pytest.raises(CheckFailed, match="cannot be read"):
        simple.look()


def test_an_image_that_is_gone_is_named(simple: Simple) -> None:
    with pytest.raises(CheckFailed) as caught:
        simple.look("a/b:nightly-1")
    assert caught.value.id == "image-unknown"


def test_a_registry_that_gives_something_else_for_a_digest_is_not_believed(simple: Simple) -> None:
    wanted = simple.image("amd64")
    simple.site.pages[f"/v2/a/b/manifests/{wanted}"] = Page(b'{"config": {}, "layers": []}')
    with pytest.raises(CheckFailed) as caught:
        simple.look(f"a/b@{wanted}")
    assert "has the digest" in caught.value.observed


@pytest.mark.parametrize("body", [b"{}", b"[]", b"<html>", b'{"config": 1, "layers": [1]}', b'{"manifests": 7}'])
def test_nonsense_is_no_image(simple: Simple, body: bytes) -> None:
    simple.site.pages["/v2/a/b/manifests/t"] = Page(body)
    if body == b'{"manifests": 7}':
        assert simple.look().platforms == ()
        return
    with pytest.raises(BringupError):
        simple.look()


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_what_docker_saves_is_read(tmp_path: Path, mode: str) -> None:
    found = read_archive(docker_save(tmp_path / "it's.tar", mode=mode), AMD64)
    assert (found.image.layers, found.image.platforms, found.image.digest) == (LAYERS, (AMD64,), None)
    assert found.file.sha256 == hashlib.sha256((tmp_path / "it's.tar").read_bytes()).hexdigest()
    assert found.image.identity == layers_digest(LAYERS)[:12]


@pytest.mark.parametrize("nested", [False, True])
def test_an_oci_layout_is_read_for_the_platform(tmp_path: Path, nested: bool) -> None:  # noqa: FBT001
    path = oci(tmp_path / "a.tar", ("amd64", "arm64"), nested=nested)
    assert read_archive(path, ARM64).image.platforms == (ARM64,)
    with pytest.raises(BadInput, match="no archive"):
        read_archive(path, "linux/s390x")


def test_archives_that_are_none_are_refused(tmp_path: Path) -> None:
    spoilt = oci(tmp_path / "spoilt.tar", spoilt=True)
    cut = tmp_path / "cut.tar"
    cut.write_bytes(docker_save(tmp_path / "whole.tar").read_bytes()[:700])
    text = tmp_path / "text"
    text.write_text("no tar")
    two = write_tar(tmp_path / "two.tar", {"manifest.json": b'[{"Config": "a"}, {"Config": "b"}]'})
    for path in (spoilt, cut, text, two, tmp_path / "absent", write_tar(tmp_path / "empty.tar", {}), tmp_path):
        with pytest.raises(BadInput) as caught:
            read_archive(path, AMD64)
        assert caught.value.id == "image-archive", path
