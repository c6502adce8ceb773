"""Docker as the login user may see it, from its own JSON."""

from __future__ import annotations

import json
import re

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import Container, Docker, Image
from inventory.facts.jsontext import Fields, as_objects, parse, parse_object

DENIED = re.compile(r"permission denied|connect: permission", re.IGNORECASE)
SHOWN_WORDS = 4  # of a command: later words may hold secrets


def read_docker(answers: Answers) -> Maybe[Docker]:
    item = answers.item("docker.info")
    if isinstance(item, Unknown):
        return item
    info = parse_object(item.text)
    fault = daemon_fault(item, info)
    if fault is not None or info is None:
        return fault or item.reason
    return parse_info(info, read_images(answers), read_containers(answers))


def daemon_fault(item: Item, info: Fields | None) -> Unknown | None:
    """A client whose daemon does not answer still prints what it knows of itself."""
    errors = info.members.get("ServerErrors") if info else None
    said = " ".join(map(str, errors)) if isinstance(errors, list) else ""
    if said:
        return Unknown(Why.REFUSED if DENIED.search(said) else Why.UNREADABLE, said[:160])
    return item.reason if item.status else None


def parse_info(
    info: Fields, images: tuple[Image, ...] | None = None, containers: tuple[Container, ...] | None = None
) -> Docker:
    return Docker(
        root=info.text("DockerRootDir") or None,
        storage_driver=info.text("Driver") or None,
        cgroup_driver=info.text("CgroupDriver") or None,
        cgroup_version=info.text("CgroupVersion") or None,
        images=images,
        containers=containers,
    )


def read_images(answers: Answers) -> tuple[Image, ...] | None:
    item = answers.item("docker.images")
    return None if isinstance(item, Unknown) or item.status else parse_images(item.text)


def parse_images(text: str) -> tuple[Image, ...]:
    """`docker image inspect`: a list, or an object a line; one that names neither digest nor layers is left out."""
    images = (image_of(one) for one in documents(text))
    return tuple(one for one in images if one.digests or one.layers)


def image_of(one: Fields) -> Image:
    architecture = one.text("Architecture")
    root = one.members.get("RootFS")
    return Image(
        id=one.text("Id"),
        tags=texts(one.members.get("RepoTags")),
        digests=texts(one.members.get("RepoDigests")),
        layers=texts(root) or texts(one.object("RootFS").members.get("Layers")),
        platform=f"{one.text('Os') or 'linux'}/{architecture}" if architecture else None,
        size_bytes=one.number("Size"),
    )


def parse_platforms(text: str) -> tuple[str, ...]:
    """What a registry's manifest offers: `linux/arm64`, of an index or of a single image."""
    found = []
    for one in documents(text):
        entries = as_objects(one.members.get("manifests")) or (one,)
        for entry in entries:
            platform = entry.object("platform") if "platform" in entry.members else entry
            architecture = platform.text("architecture") or platform.text("Architecture")
            system = platform.text("os") or platform.text("Os") or "linux"
            # Attestations stand among the images of an index.
            if architecture and architecture != "unknown":
                found.append(f"{system}/{architecture}")
    return tuple(dict.fromkeys(found))


def read_containers(answers: Answers) -> tuple[Container, ...] | None:
    item = answers.item("docker.containers")
    return None if isinstance(item, Unknown) or item.status else parse_containers(item.text)


def parse_containers(text: str) -> tuple[Container, ...]:
    """`docker container inspect`: a list, or one object a line of what sh/docker.sh asks for."""
    return tuple(container_of(one) for one in documents(text))


def container_of(one: Fields) -> Container:
    settings = one if "StopTimeout" in one.members else one.object("Config")
    devices = one.members.get("Devices", one.object("HostConfig").members.get("Devices"))
    words = (one.text("Path"), *texts(one.members.get("Args")))
    return Container(
        name=one.text("Name").removeprefix("/"),
        image=one.text("Image") if "Config" not in one.members else settings.text("Image"),
        stop_timeout_s=settings.number("StopTimeout"),
        command=tuple(word for word in words if word)[:SHOWN_WORDS],
        pid=one.number("Pid") or one.object("State").number("Pid") or None,
        devices=tuple(path for device in as_objects(devices) if (path := device.text("PathOnHost"))),
    )


def documents(text: str) -> tuple[Fields, ...]:
    """One JSON value, or one a line; objects of lists count one by one."""
    whole = parse(text)
    values = [whole] if isinstance(whole, list) else [loaded(line) for line in text.splitlines()]
    if not any(isinstance(value, dict | list) for value in values):
        values = [whole]
    return tuple(one for value in values for one in as_objects(value if isinstance(value, list) else [value]))


def loaded(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
