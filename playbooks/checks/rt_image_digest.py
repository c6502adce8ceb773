"""The same image on every host: by the digest in its repository, else by the layers of its root file system.

The image's own id is no identity: it differs between docker's image stores for the same image.
"""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts, Image
from playbooks.checks.base import ON_HOST, Priority, of_each, skip
from playbooks.checks.stored import missing_fact
from playbooks.finding import Finding, Status
from playbooks.requirements import Container, Requirements

ID = "rt.image_digest"
PRIORITY = Priority.P1
WHY = "hosts that run different builds under one tag fail in the first collective, or compute different things"

_REQUIRED = "the pinned image on every host, by digest or by layers"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    container = needs.container
    if container is None or not (container.digest or container.layers or container.image):
        return (skip(ID, "", "the plan pins no image"),)
    known, unknown = of_each(facts, needs, lambda host: host.docker)
    look = f"{ON_HOST}docker image inspect {container.image or 'IMAGE'}"
    findings = [missing_fact(ID, host, fact, _REQUIRED, look) for host, fact in unknown.items()]
    images = {host: candidates(docker.images or (), container) for host, docker in known.items()}
    wanted = container.layers or layers_of(images, container)
    return (*findings, *(of_host(host, found, container, wanted) for host, found in images.items()))


def candidates(images: tuple[Image, ...], container: Container) -> tuple[Image, ...]:
    """Images that may be the planned one: of its repository, or without any name (loaded from a file)."""
    repository = repository_of(container.image or "")
    named = (one for one in images if not (one.tags or one.digests) or repository in names_of(one))
    return tuple(named) if repository else images


def repository_of(image: str) -> str:
    """`reg:5000/vllm` of `reg:5000/vllm:tag@sha256:...`."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def names_of(image: Image) -> set[str]:
    return {repository_of(one) for one in (*image.tags, *image.digests)}


def is_pinned(image: Image, container: Container) -> bool:
    if container.digest is None:
        return container.image is not None and container.image in image.tags
    return any(one.partition("@")[2] == container.digest for one in image.digests)


def layers_of(images: Mapping[str, tuple[Image, ...]], container: Container) -> tuple[str, ...]:
    """The layers of the pinned image, as the first host that has it by name tells them."""
    named = (one.layers for found in images.values() for one in found if is_pinned(one, container) and one.layers)
    return next(named, ())


def of_host(host: str, found: tuple[Image, ...], container: Container, layers: tuple[str, ...]) -> Finding:
    pin = container.digest or container.image or "the image"
    same = [one for one in found if (layers and one.layers == layers)]
    named = [one for one in found if is_pinned(one, container)]
    if same or (named and (container.digest or not layers)):
        how = "by digest" if named and container.digest else "by its layers" if same else "by its tag"
        return Finding(ID, Status.PASS, host, f"{pin} is there, {how}")
    others = [one for one in found if one.tags or one.digests]
    if not others:
        return skip(ID, host, f"{pin} is not there yet")
    shown = (others[0].digests or others[0].tags)[0]
    remedy = f"{ON_HOST}docker pull {container.image or 'IMAGE'}" + (f"@{container.digest}" if container.digest else "")
    return Finding(ID, Status.FAIL, host, f"{shown} is there, with other layers", _REQUIRED, remedy)
