"""How ranks run in an image: words, unit and command, and that the check of flags finds nothing amiss in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from inventory.facts.host import Fabric, HostFacts, LaunchContext, RdmaDevice
from inventory.facts.host.context import Device
from inventory.secret import Secret
from launch.building.command import HostCommand
from launch.building.container import ContainerRun, arguments, run_of, run_words
from launch.building.unit import UnitSettings, command_file, unit_file
from launch.planned.api_key import ApiKey
from playbooks.checks import rt_flags
from playbooks.finding import Status
from playbooks.requirements import Container
from tests.unit.launch.gangs import facts, gpus, hosts
from tests.unit.playbooks.checks.gang import gang_needs

STATE = "/var/lib/bringup"
FOLDER = f"{STATE}/deployments/kimi/0123456789ab"
COMMAND = HostCommand(
    "tray1",
    (("HOME", f"{STATE}/caches"), ("PATH", "/not/of/the/image"), ("VLLM_HOST_IP", "10.2.0.1"), ("ODD", "a'b $(c) ü")),
    ("vllm", "serve", f"{STATE}/weights/m/1", "--tensor-parallel-size", "4", "--chat-template-kwargs", '{"a": "b c"}'),
)


def host(**parts: object) -> HostFacts:
    return replace(facts(hosts(1), [4])["tray1"], **parts)  # type: ignore[arg-type]


def nvidia() -> HostFacts:
    fabric = Fabric("absent", None, "active", None, (0,))
    return host(gpus=gpus(4), fabric=fabric, rdma=(RdmaDevice("mlx5_0"),))


def amd() -> HostFacts:
    devices = (
        Device("/dev/kfd", opens=True, group="render", gid=993),
        Device("/dev/dri/renderD128", opens=True, group="render", gid=993),
        Device("/dev/dri/card0", opens=True, group="video", gid=44),
    )
    context = LaunchContext("systemd-unit", devices=devices)
    return host(gpus=replace(gpus(4), vendor="amd"), context=context, rdma=(RdmaDevice("bnxt_re0"),))


def run_on(seen: HostFacts, *, engine: str = "docker", several: bool = True, binds: bool = False) -> ContainerRun:
    folders = ((f"{STATE}/weights/m/1", False), (f"{STATE}/caches", True))
    image = "bringup/vllm-openai:dddddddddddd"
    return run_of(seen, engine=engine, image=image, gpus=(0, 1, 2, 3), folders=folders, several=several, binds=binds)


def settings(run: ContainerRun) -> UnitSettings:
    return UnitSettings("kimi", "0123456789ab", FOLDER, "root", container=run)


@pytest.mark.parametrize("name", ["nvidia", "amd", "podman"])
def test_command_and_unit(name: str, snapshot: SnapshotAssertion) -> None:
    run = run_on(amd() if name == "amd" else nvidia(), engine="podman" if name == "podman" else "docker", binds=True)
    command = replace(COMMAND, affinity=(0, 1, 2, 8), memory_nodes=(0,))
    assert command_file(command, settings(run)) == snapshot(name="command")
    assert unit_file(settings(run)) == snapshot(name="unit")


@pytest.mark.parametrize("hardware", ["gb200", "mi355x"])
def test_the_check_of_flags_finds_nothing_amiss(hardware: str) -> None:
    run = run_on(amd() if hardware == "mi355x" else nvidia(), binds=True)
    container = Container("vllm/vllm-openai:kimi", arguments=tuple(arguments(run, COMMAND, "kimi")))
    needs = replace(gang_needs(), container=container, rdma=True, mnnvl=hardware == "gb200", hardware=hardware)
    (finding,) = rt_flags.check({}, needs)
    assert finding.status is Status.PASS, finding


def test_a_host_without_gpus_or_neighbours_is_given_neither() -> None:
    seen = host(gpus=replace(gpus(0), vendor="none"))
    words = run_words(run_on(seen, several=False), COMMAND, "kimi", FOLDER)
    assert not {"--gpus", "--device", "--group-add", "--cap-add"} & set(words)
    assert words[words.index("--pull") + 1] == "never"


def test_a_key_is_among_nobody_s_words(tmp_path: Path) -> None:
    key = ApiKey(Secret("the-key"), "--api-key")
    run = run_on(nvidia())
    text = command_file(replace(COMMAND, api_key=key), replace(settings(run), key_file=f"{tmp_path}/key"))
    assert "the-key" not in text
    assert "--env VLLM_API_KEY \\" in text


def test_the_command_starts_what_it_says_with_odd_words_whole(tmp_path: Path) -> None:
    """With a SIMULATED docker, which becomes the program: the engine here prints what it was given."""
    (tmp_path / "bin").mkdir()
    folder = tmp_path / "it's a generation"
    folder.mkdir()
    simulated = Path(__file__).parents[3] / "simulated_docker.py"
    text = simulated.read_text().replace('"/var/lib/simulated-docker"', repr(f"{tmp_path}/docker"))
    (tmp_path / "bin/docker").write_text(f"#!{os.path.realpath(sys.executable)}\n{text}")
    (tmp_path / "bin/docker").chmod(0o755)
    (tmp_path / "docker/programs").mkdir(parents=True)
    program = tmp_path / "docker/programs/vllm"
    program.write_text('#!/bin/sh\nprintf \'%s\\n\' "$@" "$ODD" "$BRINGUP_DEPLOYMENT" "$VLLM_API_KEY"\n')
    program.chmod(0o755)
    image = '{"i": {"Id": "i", "RepoTags": ["bringup/vllm-openai:dddddddddddd"], "RepoDigests": []}}'
    (tmp_path / "docker/images.json").write_text(image)
    (folder / "key").write_text("the-key\n")
    made = replace(settings(run_on(nvidia())), directory=str(folder), key_file=f"{folder}/key")
    command = replace(COMMAND, api_key=ApiKey(Secret("the-key"), "--api-key"))
    script = command_file(command, made).replace("PATH=/usr/local/sbin", f"PATH={tmp_path}/bin:/usr/local/sbin")
    env = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path)}
    shell = shutil.which("sh") or "/bin/sh"
    done = subprocess.run([shell, "-c", script], env=env, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [*COMMAND.argv[1:], "a'b $(c) ü", str(folder), "the-key"]
    assert (folder / "record").exists()
