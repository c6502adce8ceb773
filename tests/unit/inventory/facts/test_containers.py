from __future__ import annotations

import json

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.containers import parse_containers, parse_images, parse_platforms, read_docker
from inventory.facts.disks import read_file_systems
from inventory.facts.host import Container, Docker, Image
from tests.answered import Said, answers

INFO = {"DockerRootDir": "/data/docker", "Driver": "overlay2", "CgroupDriver": "systemd", "CgroupVersion": "2"}
IMAGE = {
    "Id": "sha256:aaa1",
    "RepoTags": ["reg/vllm:v1"],
    "RepoDigests": ["reg/vllm@sha256:9bb1"],
    "RootFS": {"Type": "layers", "Layers": ["sha256:l1", "sha256:l2"]},
    "Os": "linux",
    "Architecture": "arm64",
    "Size": 3,
}
RUNNING = {
    "Name": "/v4",
    "Image": "reg/vllm:v1",
    "StopTimeout": None,
    "Path": "vllm",
    "Args": ["serve", "m", "--a", "--b", "--c", "--api-key", "secret"],
    "Pid": 77,
    "Devices": [{"PathOnHost": "/dev/infiniband"}],
}
HOST: dict[str, Said] = {
    "docker.info": json.dumps(INFO),
    "docker.images": json.dumps(IMAGE) + "\n",
    "docker.containers": json.dumps(RUNNING) + "\n",
    "docker.root": "/data/docker\n/data/docker\nno\nFilesystem 1024-blocks Used Available Capacity Mounted on\n"
    "/dev/sdb 1000 400 600 40% /data\n",
}
VLLM = Image("sha256:aaa1", ("reg/vllm:v1",), ("reg/vllm@sha256:9bb1",), ("sha256:l1", "sha256:l2"), "linux/arm64", 3)


def test_all_that_docker_tells() -> None:
    command = ("vllm", "serve", "m", "--a")  # what comes later may be secret
    running = Container("v4", "reg/vllm:v1", None, command, 77, ("/dev/infiniband",))
    assert read_docker(answers(HOST)) == Docker("/data/docker", "overlay2", "systemd", "2", (VLLM,), (running,))


def test_images_that_could_not_be_listed_are_not_none() -> None:
    found = read_docker(answers({**HOST, "docker.images": (1, "Error"), "docker.containers": (124, "")}))
    assert isinstance(found, Docker)
    assert (found.images, found.containers) == (None, None)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ((127, "docker: not found"), Why.MISSING_TOOL),
        ((1, "permission denied while trying to connect to the Docker daemon socket"), Why.REFUSED),
        (json.dumps({"ServerErrors": ["permission denied while trying to connect"]}), Why.REFUSED),
        (json.dumps({"ServerErrors": ["Cannot connect to the Docker daemon"]}), Why.UNREADABLE),
        ("{cut", Why.EMPTY),
    ],
)
def test_why_docker_does_not_tell(said: Said, why: Why) -> None:
    found = read_docker(answers({**HOST, "docker.info": said}))
    assert isinstance(found, Unknown)
    assert found.why is why


def test_what_images_lie_on_is_among_the_file_systems() -> None:
    found = read_file_systems(answers(HOST))
    assert not isinstance(found, Unknown)
    assert [(one.asked, one.mount, one.free_bytes) for one in found] == [("/data/docker", "/data", 600 * 1024)]


@pytest.mark.parametrize(
    "text", [json.dumps([IMAGE]), json.dumps(IMAGE), json.dumps([IMAGE], indent=2), json.dumps(IMAGE, indent=2)]
)
def test_images_in_every_form_of_inspect(text: str) -> None:
    assert parse_images(text) == (VLLM,)


def test_layers_as_a_plain_list_and_what_names_nothing() -> None:
    (found,) = parse_images('{"Id":"sha256:c","RepoDigests":[],"RootFS":["sha256:l1"]}')
    assert (found.digests, found.layers, found.platform) == ((), ("sha256:l1",), None)
    assert parse_images('{"Id": "sha256:c"}\nnonsense\n') == ()
    assert parse_images("") == ()


def test_containers_in_docker_s_own_form() -> None:
    own = [{"Name": "/x", "Config": {"StopTimeout": 90, "Image": "i"}, "Path": "sleep", "State": {"Pid": 0}}]
    assert parse_containers(json.dumps(own)) == (Container("x", "i", 90, ("sleep",)),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"manifests":[{"platform":{"architecture":"amd64","os":"linux"}}]}', ("linux/amd64",)),
        (
            '{"manifests":[{"platform":{"architecture":"arm64"}},{"platform":{"architecture":"unknown","os":"unknown"}}]}',
            ("linux/arm64",),
        ),
        ('{"architecture":"arm64","os":"linux","config":{}}', ("linux/arm64",)),
        ("no manifest", ()),
    ],
)
def test_platforms_of_a_manifest(text: str, expected: tuple[str, ...]) -> None:
    assert parse_platforms(text) == expected
