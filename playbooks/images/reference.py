"""The name of an image, as docker reads it: `[registry/]repository[:tag][@digest]`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from inventory.errors import BadInput

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REGISTRY = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?|\[[0-9a-f:]+\](?::[0-9]{1,5})?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_NAME = re.compile(rf"({_PART}(?:/{_PART})*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?(?:@({DIGEST.pattern}))?")
_MOVING = re.compile(r"latest|nightly|main|dev", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reference:
    """`registry` None: docker's default. `digest`: sha256:..."""

    registry: str | None
    repository: str
    tag: str | None = None
    digest: str | None = None

    def __str__(self) -> str:
        return f"{self.name}{f':{self.tag}' if self.tag else ''}{f'@{self.digest}' if self.digest else ''}"

    @property
    def name(self) -> str:
        return f"{self.registry}/{self.repository}" if self.registry else self.repository

    @property
    def moves(self) -> bool:
        """Whether the tag names another build tomorrow: `latest`, nightlies, or none at all (which is `latest`)."""
        return self.tag is None or any(_MOVING.fullmatch(word) for word in re.split(r"[.-]", self.tag))

    def pinned(self, digest: str) -> Reference:
        return replace(self, digest=digest)

    def mirrored(self, mirror: str | None) -> Reference:
        """The same at a mirror, `host[:port][/path]`, which stands in for every registry."""
        if not mirror:
            return self
        host, _, path = mirror.partition("/")
        return replace(
            self, registry=host, repository=f"{path.strip('/')}/{self.repository}" if path else self.repository
        )


def parse_reference(text: str) -> Reference:
    """Read a name. Raises `BadInput` for what is none."""
    head, slash, rest = text.partition("/")
    has_registry = bool(slash) and (re.search(r"[.:\[]", head) is not None or head == "localhost")
    found = _NAME.fullmatch(rest if has_registry else text)
    if found is None or (has_registry and not re.fullmatch(_REGISTRY, head)):
        raise BadInput(
            "this is not the name of an image",
            id="image-name",
            observed=text[:200],
            required="[registry/]repository[:tag][@sha256:...]",
            next_command="set docker_image in the recipe",
        )
    return Reference(head if has_registry else None, found[1], found[2], found[3])


def parse_digest(text: str) -> str:
    """A digest, with or without its `sha256:`. Raises `BadInput`."""
    digest = text if text.startswith("sha256:") else f"sha256:{text}"
    if not DIGEST.fullmatch(digest):
        raise BadInput(
            "this is not the digest of an image",
            id="image-name",
            observed=text[:100],
            required="sha256: and 64 hexadecimal digits",
            next_command="docker buildx imagetools inspect IMAGE, where somebody has a way to the registry",
        )
    return digest
