"""What is known of one image for one kind of host. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

PLATFORMS: Mapping[str, str] = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}
"""By what `uname -m` says."""


@dataclass(frozen=True, slots=True)
class Image:
    """`digest` is that of the reference (index or manifest), None for an archive; `layers` of the root file system.

    `compressed_bytes`: of all layers as they are sent. Empty and None: nobody told.
    """

    digest: str | None
    layers: tuple[str, ...] = ()
    platforms: tuple[str, ...] | None = None
    compressed_bytes: int | None = None

    @property
    def identity(self) -> str:
        """12 hexadecimal digits, by which this very image is called on hosts: of its digest, else of its layers."""
        return self.digest.removeprefix("sha256:")[:12] if self.digest else layers_digest(self.layers)[:12]


def layers_digest(layers: tuple[str, ...]) -> str:
    """The sha256 of the layers as `docker image inspect --format '{{json .RootFS.Layers}}'` prints them."""
    return hashlib.sha256(json.dumps(layers, separators=(",", ":")).encode()).hexdigest()
