"""Where docker keeps its images, and how much an image takes there. Shared by checks; not a check itself."""

from __future__ import annotations

from pathlib import PurePosixPath

from inventory.facts.base import is_known
from inventory.facts.host import FileSystem, HostFacts
from playbooks.requirements import Container

UNPACKED = 3  # an image takes about three times its compressed size while it is pulled


def needed_bytes(container: Container) -> int | None:
    return None if container.compressed_bytes is None else UNPACKED * container.compressed_bytes


def root_of(facts: HostFacts) -> FileSystem | None:
    """What docker's images lie on: the longest mount above the folder that docker names."""
    if not is_known(facts.docker) or not facts.docker.root or not is_known(facts.file_systems):
        return None
    root = PurePosixPath(facts.docker.root)
    asked = next((one for one in facts.file_systems if one.asked == str(root)), None)
    above = [one for one in facts.file_systems if root.is_relative_to(one.mount)]
    return asked or max(above, key=lambda one: len(PurePosixPath(one.mount).parts), default=None)
