"""How ranks run in a container: the words of `docker run` (or podman's) for one host. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from inventory.facts.cpulist import format_list
from launch.planned.wanted import KEY_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inventory.facts.host import HostFacts
    from launch.building.command import HostCommand

NVIDIA, AMD, NO_GPU = "nvidia", "amd", "none"
AMD_DEVICES = ("/dev/kfd", "/dev/dri")
INFINIBAND = "/dev/infiniband"
IMEX = "/dev/nvidia-caps-imex-channels"
SPARE_S = 60
"""Seconds of a stop beyond what vLLM may take to drain; also where it is told nothing."""


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """What the container of one host is given. `engine`: docker or podman. `image`: the name that hosts keep it under.

    `folders`: (path, writable), the same inside. `devices`: paths. `groups`: by number, because names differ inside.
    """

    engine: str
    image: str
    brand: str = NO_GPU
    gpus: tuple[int, ...] = ()
    folders: tuple[tuple[str, bool], ...] = ()
    devices: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    capabilities: tuple[str, ...] = ()
    stop_timeout_s: int = SPARE_S


def container_name(deployment: str) -> str:
    return f"bringup-{deployment}"


def run_of(
    facts: HostFacts,
    *,
    engine: str,
    image: str,
    gpus: Sequence[int],
    folders: Sequence[tuple[str, bool]],
    several: bool,
    binds: bool,
) -> ContainerRun:
    """What this host has of devices and groups, as far as ranks need it. `several`: they talk to other hosts.

    `binds`: vLLM binds its workers to NUMA nodes itself.
    """
    brand = facts.gpus.vendor if is_known(facts.gpus) else NO_GPU
    devices = list(AMD_DEVICES) if brand == AMD else []
    capabilities = ["SYS_NICE"] if binds else []
    if several and is_known(facts.rdma) and facts.rdma:
        devices.append(INFINIBAND)
        capabilities.append("IPC_LOCK")
    if several and brand == NVIDIA:
        devices += [f"{IMEX}/channel{number}" for number in _imex_channels(facts)]
    return ContainerRun(
        engine=engine,
        image=image,
        brand=brand if gpus else NO_GPU,
        gpus=tuple(gpus),
        folders=tuple(folders),
        devices=tuple(devices),
        groups=_groups(facts) if brand == AMD else (),
        capabilities=tuple(capabilities),
    )


def arguments(run: ContainerRun, command: HostCommand, deployment: str) -> list[str]:
    """The words between `docker run` and the image, without the environment, which a check need not see.

    `--pull never`: a start asks no registry, so it works without one, and never gets another build.
    """
    words = ["--rm", "--name", container_name(deployment), "--pull", "never"]
    words += ["--network", "host", "--ipc", "host", "--ulimit", "memlock=-1", "--ulimit", "nofile=1048576"]
    words += ["--stop-timeout", str(run.stop_timeout_s), *_gpu_words(run)]
    for device in run.devices:
        words += ["--device", device]
    for group in run.groups:
        words += ["--group-add", str(group)]
    for capability in run.capabilities:
        words += ["--cap-add", capability]
    if command.affinity:
        words += ["--cpuset-cpus", format_list(command.affinity)]
    if command.memory_nodes:
        words += ["--cpuset-mems", format_list(command.memory_nodes)]
    for path, writable in run.folders:
        words += ["--volume", f"{path}:{path}{'' if writable else ':ro'}"]
    return words


def run_words(run: ContainerRun, command: HostCommand, deployment: str, directory: str) -> list[str]:
    """All words, `docker` first. PATH is the image's own; a key comes from the environment of docker itself."""
    env = [(key, value) for key, value in command.env if key != "PATH"]
    words = [run.engine, "run", *arguments(run, command, deployment)]
    for key, value in (*env, ("BRINGUP_DEPLOYMENT", directory)):
        words += ["--env", f"{key}={value}"]
    if command.api_key:
        words += ["--env", KEY_VARIABLE]
    return [*words, "--entrypoint", command.argv[0].rpartition("/")[2], run.image, *command.argv[1:]]


def _gpu_words(run: ContainerRun) -> list[str]:
    """Docker by the vendor's toolkit, podman by CDI."""
    if run.brand != NVIDIA:
        return ["--security-opt", "seccomp=unconfined"] if run.brand == AMD else []
    if run.engine == "podman":
        return [word for index in run.gpus for word in ("--device", f"nvidia.com/gpu={index}")]
    return ["--gpus", f'"device={",".join(map(str, run.gpus))}"']


def _imex_channels(facts: HostFacts) -> tuple[int, ...]:
    return (facts.fabric.imex_channels or ()) if is_known(facts.fabric) else ()


def _groups(facts: HostFacts) -> tuple[int, ...]:
    """The groups of the GPUs' device files, by number: `render` has another one inside the image."""
    devices = facts.context.devices if is_known(facts.context) else ()
    told = [one for one in devices if one.path.startswith(AMD_DEVICES)] if is_known(devices) else []
    return tuple(dict.fromkeys(one.gid for one in told if one.gid is not None))
