"""A profile: what a lab host seems to be. YAML in `profiles/`, written into the hosts' files in the real formats."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from inventory import yamlfile
from inventory.errors import BadInput

FOLDER = Path(__file__).with_name("profiles")


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Processor(_Data):
    """CPU numbers count threads last, as Linux on x86 does: thread t of core c is c + t x all cores."""

    packages: int
    cores: int  # of each package
    threads: int  # of each core

    @property
    def all_cores(self) -> int:
        return self.packages * self.cores


class Node(_Data):
    """A NUMA node; no `cpus`: memory only, such as the memory of a coherent GPU."""

    id: int
    mib: int
    cpus: str = ""


class Device(_Data):
    """A GPU's place. `node` has CPUs; `own_node`: the node that its memory is; `numa_affinity`: as the tool says."""

    pci: str
    node: int
    own_node: int | None = None
    numa_affinity: str = ""


class Gpus(_Data):
    """GPUs of one kind. `coherent`: the CPU addresses their memory. `links`: NVLinks between any two, 0: none.

    `unified`: their memory is the host's, and the tool does not tell it.
    """

    name: str
    architecture: str
    driver: str
    cuda: str
    compute_capability: str
    memory_mib: int
    reserved_mib: int
    power_idle_w: int
    power_limit_w: int
    clock_mhz: int
    clock_memory_mhz: int
    vbios: str
    device_id: str
    coherent: bool = False
    unified: bool = False
    links: int
    fabric: Literal["board", "switch"]  # NVLink within the host, or between hosts
    nic_on_same_node: Literal["NODE", "SYS"]
    devices: tuple[Device, ...]


class Cards(_Data):
    """AMD GPUs of one kind, as the kernel's own compute nodes (KFD) tell them: none of the vendor's tools is there.

    `partitions`: the compute nodes of each card, which share its `memory_mib` and `compute_units`.
    """

    device_id: str
    gfx_target_version: int
    memory_mib: int
    compute_units: int
    partitions: int = 1
    devices: tuple[Device, ...]


class Nic(_Data):
    """A port for RDMA; `gpu`: the one that it shares a PCIe switch with; `cable`: something is at its other end."""

    name: str
    pci: str
    node: int
    gpu: int | None = None
    link_layer: Literal["InfiniBand", "Ethernet"]
    rate: str
    cable: bool = True
    pci_id: str = "15b3:1021"


class Hardware(_Data):
    architecture: Literal["x86_64", "aarch64"]
    processor: Processor
    cpuinfo: str  # what /proc/cpuinfo says of the first CPU
    nodes: tuple[Node, ...]
    empty_nodes: str = ""  # nodes without CPUs and memory
    gpus: Gpus | None = None
    cards: Cards | None = None
    nics: tuple[Nic, ...] = ()


class Failure(_Data):
    """What the GPU's tool says instead of an answer."""

    message: str
    exit_status: int


class Profile(_Data):
    """No `hardware`: the hosts are what this machine is. `engine`: what stands in for vLLM on such hosts.

    `disk`: the size of each host's disk (a limit; only what is written takes memory). `allowed`: the CPUs that
    processes may use, all if empty. `based_on`: take the hardware of that profile.
    """

    title: str
    disk: str = "50%"
    engine: Literal["stand-in"] | None = None
    hardware: Hardware | None = None
    based_on: str | None = None
    allowed: str = ""
    failure: Failure | None = None


def names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def load(name: str) -> Profile:
    """Read the profile `name`, what it is based on included; `BadInput` names those that there are."""
    if name not in names():
        raise BadInput(
            f"no lab profile named {name}",
            id="lab-input",
            observed=repr(name),
            required=f"one of {', '.join(names())}",
            next_command="invoke lab.up --hosts 2 --profile gb200",
        )
    profile = yamlfile.read(FOLDER / f"{name}.yaml", Profile)
    if profile.based_on is None:
        return profile
    base = load(profile.based_on)
    said = profile.model_fields_set - {"based_on"}
    return base.model_copy(update={name: getattr(profile, name) for name in said})
