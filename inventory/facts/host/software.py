"""What is installed, what bringup put there, and what runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python environment that bringup made: `<state_dir>/envs/<digest>`, complete if its marker is there."""

    digest: str
    vllm_version: str
    complete: bool
    simulated: bool
    python: str | None = None  # "3.12"
    packages: tuple[tuple[str, str], ...] = ()  # name and version as installed; none: not told


@dataclass(frozen=True, slots=True)
class Weights:
    """A weight folder with a manifest: `<state_dir>/weights/<org>--<repo>/<commit>`."""

    repo: str
    commit: str
    bytes: int
    files: int
    simulated: bool


@dataclass(frozen=True, slots=True)
class Software:
    systemd: str | None  # version when systemd is PID 1 and answers, else None
    container: str | None  # docker, lxc, systemd-nspawn, lab ... None: a machine
    docker: str | None
    podman: str | None
    python: str | None
    uv: str | None
    environments: tuple[Environment, ...]
    weights: tuple[Weights, ...]
    pip: str | None = None  # of `python`
    container_toolkit: str | None = None  # NVIDIA's: gives GPUs to containers
    docker_runtimes: tuple[str, ...] | None = None  # None: docker does not tell
    cdi_specs: tuple[str, ...] = ()  # files that describe devices to container engines, by path
    compilers: tuple[str, ...] | None = None  # nvcc, hipcc, cc, c++, ninja that are there, by path; None: not asked


@dataclass(frozen=True, slots=True)
class RunningDeployment:
    """A deployment as the host's state dir and process table tell it."""

    name: str
    generation: str
    head: bool
    state: Literal["running", "partial", "dead", "stopped"]  # partial: main process gone, others left
    supervisor: Literal["systemd", "process-group"]
    pids: tuple[int, ...]
    cgroups: tuple[tuple[int, str], ...] = ()  # pid and path; none: not told
    guard_pids: tuple[int, ...] = ()  # of its guard, which is none of its ranks

    @property
    def holders(self) -> tuple[int, ...]:
        """All that may hold its ports."""
        return (*self.pids, *self.guard_pids)


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """What psutil and py-cpuinfo say in `python`, an interpreter on the host; None: that library is not there."""

    python: str
    physical_cores_machine: int | None
    allowed: tuple[int, ...] | None
    flags: tuple[str, ...] | None
