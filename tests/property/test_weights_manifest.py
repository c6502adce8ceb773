"""A folder of weights counts as verified only when every byte of it is the listed one."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from launch.prefetch.programs.folder import Folder
from launch.prefetch.programs.verify import faults

NAMES = st.sampled_from(["config.json", "model.safetensors", "sub/tokenizer.json", "a b", "模型.bin"])
SUMS = st.sampled_from(["git", "sha256"])
FILES = st.dictionaries(NAMES, st.binary(max_size=200), min_size=1)


def listed(files: dict[str, bytes], *, sums: str) -> dict[str, Any]:
    def one(path: str, data: bytes) -> dict[str, Any]:
        sha1 = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        own = {"git_sha1": sha1} if sums == "git" else {"sha256": hashlib.sha256(data).hexdigest()}
        return {"path": path, "size": len(data), **own}

    return {"format_version": 1, "files": [one(path, data) for path, data in files.items()]}


def laid(root: Path, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


@st.composite
def harmed(draw: st.DrawFn) -> tuple[dict[str, bytes], dict[str, bytes | None], str]:
    """Files, the same with one of them harmed in one byte (None: it is gone), and which."""
    files = draw(FILES)
    path = draw(st.sampled_from(sorted(files)))
    data = files[path]
    at = draw(st.integers(0, max(0, len(data) - 1)))
    kinds = ["added", "missing"] + (["changed", "truncated", "lost"] if data else [])
    kind = draw(st.sampled_from(kinds))
    made: dict[str, bytes | None] = {
        "missing": None,
        "added": data[:at] + draw(st.binary(min_size=1, max_size=1)) + data[at:],
        "changed": data[:at] + bytes([data[at] ^ draw(st.integers(1, 255))]) + data[at + 1 :] if data else b"",
        "truncated": data[:-1],
        "lost": data[:at] + data[at + 1 :],
    }
    return files, {**files, path: made[kind]}, path


@given(harmed(), SUMS)
def test_any_single_byte_that_is_not_the_listed_one_is_found(
    case: tuple[dict[str, bytes], dict[str, bytes | None], str], sums: str
) -> None:
    files, there, path = case
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        laid(root, {name: data for name, data in there.items() if data is not None})
        looked = Folder(folder, listed(files, sums=sums))
        assert list(faults(looked, list(files))) == [path]
        assert {name for name in files if looked.is_verified(name)} == set(files) - {path}


@given(FILES, SUMS)
def test_what_is_as_listed_is_verified_once_and_sealed_with_its_sums(files: dict[str, bytes], sums: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        laid(Path(folder), files)
        looked = Folder(folder, listed(files, sums=sums))
        assert faults(looked, list(files)) == {}
        looked.seal()
        again = Folder(folder, listed(files, sums=sums))
        assert all(again.is_verified(path) for path in files)
        assert again.verified == {p: (*again.verified[p][:2], hashlib.sha256(d).hexdigest()) for p, d in files.items()}
