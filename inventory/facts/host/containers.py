"""Docker as the login user sees it: the daemon, its images and what runs in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Image:
    """`id` differs between image stores for the same image: `digests`, else `layers`, tell what it is."""

    id: str
    tags: tuple[str, ...]
    digests: tuple[str, ...]  # repository@sha256:...
    layers: tuple[str, ...]  # of the root file system
    platform: str | None  # linux/arm64
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Container:
    """A container that runs. `command`: the first words of its process 1."""

    name: str
    image: str
    stop_timeout_s: int | None  # None: docker's own 10 s
    command: tuple[str, ...]
    pid: int | None = None
    devices: tuple[str, ...] = ()  # on the host, given by path


@dataclass(frozen=True, slots=True)
class Docker:
    """`root` is where images lie; the others as `docker info` prints them."""

    root: str | None
    storage_driver: str | None = None
    cgroup_driver: str | None = None
    cgroup_version: str | None = None
    images: tuple[Image, ...] | None = None  # the first 60; None: not told
    containers: tuple[Container, ...] | None = None  # the first 60; None: not told
