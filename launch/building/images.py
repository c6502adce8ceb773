"""Which image hosts will run, to the byte: asked of a registry, given by its digest, or read from an archive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from inventory.errors import BadInput, CheckFailed
from inventory.facts.base import is_known
from launch.building.image_engine import EngineImage
from launch.building.requirements import Download
from launch.request import refused
from playbooks.cargo import Cargo
from playbooks.images.archive import Archive, read_archive
from playbooks.images.image import PLATFORMS, Image
from playbooks.images.registry import Registry
from playbooks.layout import Layout
from playbooks.steps.image import loaded_image, pulled_image
from playbooks.steps.weights import prefetched_weights
from playbooks.web import Web

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.fleet import Fleet
    from inventory.schema import Host
    from launch.building.engine import Engine
    from launch.choosing.outline import Outline
    from launch.console.report import Report
    from launch.request import Request
    from playbooks.images.reference import Reference
    from playbooks.plan import Step


def with_images(one: Outline, fleet: Fleet, facts: Mapping[str, HostFacts], report: Report) -> dict[str, Engine]:
    """The engines of `one`; those that run from an image with the steps that bring it. Raises what forbids it."""
    request = one.request
    if not any(engine.image for engine in one.engines.values()):
        for flag, value in (("image-digest", request.image_digest), ("image-archive", request.image_archive)):
            if value:
                image = "a model that runs from an image: this one is installed from wheels"
                raise refused(flag, str(value), image, instead=f"without --{flag}")
        return dict(one.engines)
    read = cache(partial(read_archive, request.image_archive)) if request.image_archive else None
    addresses = {node.host: node.address for node in one.decision.placement.nodes if node.address}
    engines, seen = {}, {}
    for name, engine in one.engines.items():
        if engine.image is None:
            engines[name] = engine
            continue
        platform, host = _platform(facts[name]), fleet.hosts[name]
        if platform not in seen:
            seen[platform] = _archived(read, platform) or _asked(engine.image.reference, request, host, platform)
            _say(report, engine.image, seen[platform], platform, archive=read is not None)
        archive = read(platform) if read else None
        engines[name] = _with_image(engine, replace(engine.image, found=seen[platform]), host, archive, addresses)
    return engines


def _archived(read: Callable[[str], Archive] | None, platform: str) -> Image | None:
    return read(platform).image if read else None


def _asked(reference: Reference, request: Request, host: Host, platform: str) -> Image:
    """What the registry, or the mirror, has under the name; a digest that was given counts more than the tag."""
    digest = request.image_digest or reference.digest
    if digest is None and reference.moves:
        raise BadInput(
            f"{reference} names another build tomorrow",
            id="image-moves",
            observed=f"tag {reference.tag or 'latest (none is written)'}",
            required="a tag of a release, or a digest: hosts that pull on different days run different code",
            next_command="the same command with --image-digest sha256:...",
        )
    mirror = host.mirrors.registry
    server = mirror.partition("/")[0] if mirror else reference.registry
    if server is None:
        if digest is None:
            raise CheckFailed(
                f"nobody here knows the digest of {reference}",
                id="image-open",
                observed="no mirrors: registry: in the inventory, and the name has no registry in it",
                required="the digest: what the tag names can change between two hosts' pulls",
                next_command="the same command with --image-digest sha256:..., or --image-archive FILE; "
                "or set mirrors: registry: in the inventory",
            )
        return Image(digest)
    web = Web(host.proxy.reveal() if host.proxy else None, host.no_proxy)
    wanted = replace(reference, digest=digest) if digest else reference
    try:
        return Registry(server, web).look(wanted.mirrored(mirror), platform)
    except CheckFailed:
        if digest is None:
            raise
        return Image(digest)  # hosts may have it: a registry that has gone must not keep them from it


def _with_image(
    engine: Engine, image: EngineImage, host: Host, archive: Archive | None, addresses: Mapping[str, str]
) -> Engine:
    assert image.found is not None  # noqa: S101  (the caller has just set it)
    if archive:
        layout = Layout(host.state_dir)
        cargo = Cargo(layout.image(image.found.identity), "", (archive.file,), tuple(addresses.items()))
        cargo = replace(cargo, incoming=layout.incoming(cargo.digest))
        step: Step = loaded_image(image.reference, image.found, engine=image.runtime, cargo=cargo)
        downloads = [Download("image archive", cargo.folder, cargo.size, present=False)]
    else:
        mirror = host.mirrors.registry
        step = pulled_image(image.reference, image.found, engine=image.runtime, mirror=mirror)
        downloads = []
    weights = tuple(prefetched_weights(one) for one in image.checkpoints)
    return replace(
        engine, image=image, steps=(*engine.steps, step, *weights), downloads=(*engine.downloads, *downloads)
    )


def _platform(facts: HostFacts) -> str:
    machine = facts.system.architecture if is_known(facts.system) else ""
    return PLATFORMS.get(machine, f"linux/{machine or 'unknown'}")


def _say(report: Report, image: EngineImage, found: Image, platform: str, *, archive: bool) -> None:
    how = "from an archive, known by its layers" if archive else f"by digest {found.digest}"
    size = f", {found.compressed_bytes / 1e9:.2f} GB" if found.compressed_bytes else "; no registry told its size"
    report.say(f"  image {image.reference} for {platform}: {how}{size}; run by {image.runtime}")
