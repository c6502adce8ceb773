"""What a manifest says is what must be there; anything that is no manifest is refused."""

from __future__ import annotations

import json

import pytest

from launch.prefetch.manifest import Manifest, ManifestFile, is_inside, read_manifest

SUM = "a" * 64
ONE = Manifest("org/repo", "c" * 40, (ManifestFile("config.json", 3, None, "b" * 40), ManifestFile("w", 5, SUM)), "hub")


def test_it_is_read_as_it_was_written() -> None:
    assert read_manifest(ONE.to_json()) == ONE
    assert ONE.bytes == 8
    assert not ONE.is_sealed


def test_sums_that_hosts_found_fill_what_the_hub_does_not_tell_and_nothing_else() -> None:
    whole = ONE.with_sums({"config.json": "d" * 64, "w": "e" * 64})
    assert whole.is_sealed
    assert [one.sha256 for one in whole.files] == ["d" * 64, SUM]


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../up", "a/../../b", "./a", "a//b", ".cache/x", ".bringup-manifest.json", "a\nb", "a\\b"],
)
def test_a_path_that_leaves_the_folder_or_is_ours_is_refused(path: str) -> None:
    assert not is_inside(path)
    told = json.loads(ONE.to_json())
    told["files"][0]["path"] = path
    with pytest.raises(ValueError, match="not the path"):
        read_manifest(json.dumps(told))


@pytest.mark.parametrize(
    ("key", "value"), [("size", -1), ("size", "3"), ("sha256", "xyz"), ("sha256", SUM.upper()), ("git_sha1", "b" * 39)]
)
def test_sizes_and_sums_are_such(key: str, value: object) -> None:
    told = json.loads(ONE.to_json())
    told["files"][1][key] = value
    with pytest.raises(ValueError, match="has no"):
        read_manifest(json.dumps(told))


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"format_version": 2, "files": []}', '{"format_version": 1, "files": []}']
)
def test_another_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="manifest"):
        read_manifest(text)


def test_a_path_stands_once() -> None:
    told = json.loads(ONE.to_json())
    told["files"] *= 2
    with pytest.raises(ValueError, match="twice"):
        read_manifest(json.dumps(told))


@pytest.mark.parametrize("path", ["config.json", "sub/dir/a b.txt", "模型.bin", ".gitattributes", "a..b"])
def test_what_repositories_have_is_taken(path: str) -> None:
    assert is_inside(path)
