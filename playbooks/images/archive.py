"""What an archive of an image holds: `docker save` or an OCI layout in a tar file, gzip and others included."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inventory.errors import BadInput
from playbooks.cargo import CargoFile
from playbooks.images.image import Image

MOST_BYTES = 16 << 20
"""Of a document inside."""


@dataclass(frozen=True, slots=True)
class Archive:
    file: CargoFile
    image: Image


def read_archive(path: Path, platform: str) -> Archive:
    """Read the image for `platform` (linux/arm64) and the sum of the whole file. Raises `BadInput`."""
    try:
        with tarfile.open(path) as tar:
            config = _config(tar, platform)
        layers = tuple(str(one) for one in config["rootfs"]["diff_ids"])
        found = f"{config.get('os', 'linux')}/{config['architecture']}"
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError, IndexError, EOFError) as error:
        raise _unreadable(path, error) from None
    size = path.stat().st_size
    file = CargoFile("image.tar", size, sha256, str(path.absolute()))
    return Archive(file, Image(None, layers, (found,), size))


def _config(tar: tarfile.TarFile, platform: str) -> Mapping[str, Any]:
    names = set(tar.getnames())
    if "index.json" in names:
        return _of_index(tar, _document(tar, "index.json"), platform)
    (one,) = _document(tar, "manifest.json")
    return dict(_document(tar, one["Config"]))


def _of_index(tar: tarfile.TarFile, document: Mapping[str, Any], platform: str) -> Mapping[str, Any]:
    """Follow indexes inside indexes to the one image, or among several to that of the platform."""
    entries = [one for one in document["manifests"] if (one.get("platform") or {}).get("architecture") != "unknown"]
    if len(entries) > 1:
        system, _, machine = platform.partition("/")
        entries = [
            one
            for one in entries
            if ((one.get("platform") or {}).get("os"), (one.get("platform") or {}).get("architecture"))
            == (system, machine)
        ]
    if len(entries) != 1:
        raise ValueError(f"{len(entries)} images for {platform} in it")
    inner = _blob(tar, entries[0]["digest"])
    return _of_index(tar, inner, platform) if "manifests" in inner else _blob(tar, inner["config"]["digest"])


def _blob(tar: tarfile.TarFile, digest: str) -> dict[str, Any]:
    kind, _, sum_ = digest.partition(":")
    data = _bytes(tar, f"blobs/{kind}/{sum_}")
    if kind != "sha256" or hashlib.sha256(data).hexdigest() != sum_:
        raise ValueError(f"{digest} has another content")
    return dict(json.loads(data))


def _document(tar: tarfile.TarFile, name: str) -> Any:  # noqa: ANN401  (JSON)
    return json.loads(_bytes(tar, name))


def _bytes(tar: tarfile.TarFile, name: str) -> bytes:
    member = tar.getmember(name)
    file = tar.extractfile(member) if member.isfile() and member.size <= MOST_BYTES else None
    if file is None:
        raise ValueError(f"{name} is not a document")
    return file.read()


def _unreadable(path: Path, error: Exception) -> BadInput:
    return BadInput(
        "this file is no archive of one image",
        id="image-archive",
        observed=f"{path}: {error}"[:300],
        required="what `docker save IMAGE` or `skopeo copy docker://IMAGE oci-archive:FILE` writes, of one image",
        next_command=f"tar -tf {path} | head",
    )
