"""Models that only an image has: from the recipe to a plan that pins the build, and everything that forbids it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import BadInput, BringupError, CheckFailed
from inventory.facts.host import HostFacts, Software, System
from inventory.fleet import Fleet
from inventory.schema import Host, Mirrors
from launch.building.assemble import Assembly, assemble
from launch.building.engine import Engine
from launch.building.images import with_images
from launch.catalogue.find import Catalogue, Found
from launch.choosing.outline import launched
from launch.console.report import Report
from launch.request import Request
from playbooks.plan import Step
from tests.unit.launch.gangs import facts, hosts
from tests.unit.playbooks.images.archives import LAYERS, config, docker_save
from tests.unit.playbooks.served import Page, Site, serving

CATALOGUE = Catalogue.of()
COMMIT = "a" * 40
SUM = "sha256:" + "c" * 64
SOFTWARE = Software("252", None, "27.0", None, "3.11.2", None, (), ())
SYSTEM = System("debian", "12", "debian", "6.1", "aarch64", "b", "tray1", "root", 0, can_sudo=True, clock_offset_s=0.0)


def seen(gang: list[Host], **software: Any) -> dict[str, HostFacts]:  # noqa: ANN401  (fields of Software)
    told = facts(gang, [4] * len(gang), "NVIDIA GB300")
    system = {name: replace(SYSTEM, hostname=name) for name in told}
    return {
        name: replace(one, software=replace(SOFTWARE, **software), system=system[name]) for name, one in told.items()
    }


def engines(
    found: Found | None = None,
    mirror: str | None = None,
    request: dict[str, Any] | None = None,
    **software: Any,  # noqa: ANN401  (fields of Software)
) -> tuple[Assembly, dict[str, Engine]]:
    gang = hosts(2, mirrors=Mirrors(registry=mirror))
    told = seen(gang, **software)
    asked = Request("kimi-k3.1-pro", revision=COMMIT, **(request or {}))
    one = launched(found or CATALOGUE.find("kimi-k3.1-pro"), asked, gang, told)
    made = with_images(one, Fleet(gang), told, Report(quiet=True))
    return assemble(one.decision, one.name, one.choice.hosts, told, made), made


def found_with(image: str) -> Found:
    found = CATALOGUE.find("kimi-k3.1-pro")
    model = found.recipe.model.model_copy(update={"docker_image": image})
    return replace(found, recipe=found.recipe.model_copy(update={"model": model}))


@pytest.fixture
def registry() -> Iterator[Site]:
    """A registry on loopback that has the image, for arm64."""
    with serving() as site:
        inner = json.dumps(config("arm64")).encode()
        digest = f"sha256:{hashlib.sha256(inner).hexdigest()}"
        manifest = json.dumps({"config": {"digest": digest}, "layers": [{"size": 7_000_000_000}]}).encode()
        site.pages["/v2/mirror/vllm/vllm-openai/manifests/kimi-k31"] = Page(manifest)
        site.pages[f"/v2/mirror/vllm/vllm-openai/blobs/{digest}"] = Page(inner)
        yield site


def mirror_of(site: Site) -> str:
    return f"{site.url.removeprefix('http://')}/mirror"


def steps_named(engine: Engine, word: str) -> list[Step]:
    return [step for step in engine.steps if step.id.startswith(word)]


def test_the_tag_of_the_recipe_becomes_a_digest_in_the_plan(registry: Site) -> None:
    body = registry.pages["/v2/mirror/vllm/vllm-openai/manifests/kimi-k31"].body
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"

    assembly, made = engines(mirror=mirror_of(registry))

    container = assembly.needs.container
    assert container
    assert (container.image, container.digest) == ("vllm/vllm-openai:kimi-k31", digest)
    assert (container.platforms, container.compressed_bytes) == (("linux/arm64",), 7_000_000_000)
    assert container.layers == LAYERS
    for engine in made.values():
        (image,) = steps_named(engine, "image")
        assert f"docker pull {mirror_of(registry)}/vllm/vllm-openai@{digest}" in image.script


def test_nothing_of_it_touches_pip(registry: Site) -> None:
    assembly, made = engines(mirror=mirror_of(registry))
    for host in made:
        steps = assembly.all_steps(host)
        assert not [step for step in steps if step.id.startswith("environment")]
        text = "\n".join(step.script for step in steps)
        assert "pip install" not in text
        assert "/envs/" not in text
    assert assembly.needs.environment is None


def test_another_build_is_another_generation(registry: Site) -> None:
    first, _ = engines(mirror=mirror_of(registry))
    again, _ = engines(mirror=mirror_of(registry))
    other, _ = engines(request={"image_digest": SUM})
    assert first.gang.generation == again.gang.generation != other.gang.generation


def test_weights_come_by_a_prefetch(registry: Site) -> None:
    _, made = engines(mirror=mirror_of(registry))
    (weights,) = steps_named(made["tray1"], "weights")
    assert weights.wanted == "complete"
    assert "fetch" in weights.summary


def test_a_digest_that_was_given_needs_no_registry() -> None:
    assembly, made = engines(request={"image_digest": SUM})
    assert assembly.needs.container
    assert (assembly.needs.container.digest, assembly.needs.container.platforms) == (SUM, None)
    (image,) = steps_named(made["tray2"], "image")
    assert f"docker pull vllm/vllm-openai@{SUM}" in image.script


def test_a_digest_that_was_given_is_enough_when_the_registry_has_gone(registry: Site) -> None:
    registry.pages.clear()
    assembly, _ = engines(mirror=mirror_of(registry), request={"image_digest": SUM})
    assert assembly.needs.container
    assert (assembly.needs.container.digest, assembly.needs.container.platforms) == (SUM, None)


def test_an_archive_goes_to_one_host_and_from_there_to_the_others(tmp_path: Path) -> None:
    path = docker_save(tmp_path / "image.tar", machine="arm64")
    assembly, made = engines(request={"image_archive": path})
    cargoes = [step.cargo for engine in made.values() for step in steps_named(engine, "image")]
    assert [one.files[0].origin for one in cargoes if one] == [str(path)] * 2
    assert len({one.digest for one in cargoes if one}) == 1
    assert {host for host, _ in (cargoes[0].addresses if cargoes[0] else ())} == {"tray1", "tray2"}
    assert assembly.needs.container
    assert assembly.needs.container.layers == LAYERS


def test_the_archive_s_platform_is_for_the_check(tmp_path: Path) -> None:
    path = docker_save(tmp_path / "image.tar", machine="amd64")
    assembly, _ = engines(request={"image_archive": path})
    assert assembly.needs.container
    assert assembly.needs.container.platforms == ("linux/amd64",)


@pytest.mark.parametrize("image", ["vllm/vllm-openai:latest", "vllm/vllm-openai:nightly", "vllm/vllm-openai"])
def test_a_tag_that_moves_is_refused_unless_its_digest_is_given(image: str, registry: Site) -> None:
    with pytest.raises(BadInput) as caught:
        engines(found_with(image), mirror=mirror_of(registry))
    assert caught.value.id == "image-moves"
    assembly, _ = engines(found_with(image), request={"image_digest": SUM})
    assert assembly.needs.container
    assert assembly.needs.container.digest == SUM


def test_a_digest_that_nobody_knows_is_asked_for() -> None:
    with pytest.raises(CheckFailed) as caught:
        engines()
    assert caught.value.id == "image-open"
    assert "--image-digest" in caught.value.next_command


def test_a_host_with_nothing_that_runs_images_is_refused() -> None:
    with pytest.raises(BringupError) as caught:
        engines(docker=None)
    assert "image-only" in str(caught.value)


def test_podman_takes_the_place_of_docker() -> None:
    assembly, made = engines(request={"image_digest": SUM}, docker=None, podman="5.0")
    assert "podman pull" in steps_named(made["tray1"], "image")[0].script
    command = next(one for one in assembly.all_steps("tray1") if one.id.endswith("command.sh"))
    assert command.summary
    assert assembly.needs.container
    assert "nvidia.com/gpu=0" in (assembly.needs.container.arguments or ())


@pytest.mark.parametrize("request_", [{"image_digest": SUM}, {"image_archive": Path("/x")}])
def test_a_model_of_wheels_takes_no_image(request_: dict[str, Any]) -> None:
    gang = hosts(1)
    told = facts(gang, [4])
    one = launched(CATALOGUE.find("gpt-oss-120b"), Request("gpt-oss-120b", **request_), gang, told)
    with pytest.raises(BadInput) as caught:
        with_images(one, Fleet(gang), told, Report(quiet=True))
    assert caught.value.id == "flag-value"
