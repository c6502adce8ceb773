"""NVIDIA's kernel module, its libraries as the linker finds them, and the kernel of the next boot."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import Driver, Library

VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")
MODULE = re.compile(r"NVRM version:[^\n]*?(\d{3,4}\.\d+(?:\.\d+)?)(?=\s|$)")
LINKED = re.compile(r"(?m)^\s*(\S+\.so\S*) \(([^)]*)\) => (\S+)(?: -> (\S+))?\s*$")
PARAMETER = re.compile(r"(?m)^(\w+): *(.*?) *$")
NATIVE = ("x86-64", "AArch64")
MODULES = frozenset(
    (
        *("nvidia", "nvidia_uvm", "nvidia_peermem", "nv_peer_mem", "gdrdrv"),
        *("mlx5_core", "mlx5_ib", "ib_umad", "ib_uverbs", "amdgpu"),
    )
)


def read_driver(answers: Answers) -> Maybe[Driver]:
    version, peers = answers.item("nvidia.version"), answers.item("driver.peers")
    asked = answers.item("driver.modules")
    if isinstance(asked, Unknown):
        return asked
    module, is_open = parse_module("" if isinstance(version, Unknown) else version.text)
    linked = parse_linked(text(answers, "driver.libraries"))
    kernel, has_module = parse_kernels(text(answers, "driver.kernels"))
    return Driver(
        module=module,
        open_module=is_open,
        library=next((one.version for one in linked if "libnvidia-ml.so" in one.path and one.version), None),
        libcuda=libcuda(linked) if answered(answers.item("driver.libraries")) else None,
        parameters=tuple(PARAMETER.findall(text(answers, "driver.parameters"))),
        loaded=tuple(asked.text.split()) if asked.status == 0 else None,
        memory_peers=() if isinstance(peers, Unknown) else tuple(peers.text.split()),
        nvlsm=runs(answers.item("driver.nvlsm")),
        next_kernel=kernel,
        next_kernel_module=has_module,
        amdgpu=text(answers, "driver.amdgpu").strip() or None,
        rocm=parse_rocm(text(answers, "driver.rocm")),
    )


def text(answers: Answers, name: str) -> str:
    """What the item says; nothing where it does not."""
    item = answers.item(name)
    return "" if isinstance(item, Unknown) or item.status else item.text


def answered(item: Maybe[Item]) -> bool:
    """Nothing found is an answer of `grep`."""
    return not isinstance(item, Unknown) and item.status in {0, 1} and not item.err


def runs(item: Maybe[Item]) -> bool | None:
    """`grep -s` over the process table: 1 when nothing is found, 2 when a process ended meanwhile."""
    return None if isinstance(item, Unknown) or item.status > 2 else bool(item.out.strip())


def parse_module(said: str) -> tuple[str | None, bool | None]:
    """Version and openness of the loaded module, from /proc/driver/nvidia/version."""
    match = MODULE.search(said)
    return (match[1], "Open Kernel Module" in said) if match else (None, None)


def parse_linked(said: str) -> tuple[Library, ...]:
    """`ldconfig -p`, in its order, without libraries of a foreign word size; `-> FILE` tells versions."""
    lines = LINKED.findall(said)
    native = [one for one in lines if any(word in one[1] for word in NATIVE)] or lines
    return tuple(Library(path, version_of(target or path)) for _, _, path, target in native)


def libcuda(linked: tuple[Library, ...]) -> tuple[Library, ...]:
    return tuple(one for one in linked if "libcuda.so" in one.path)


def version_of(path: str) -> str | None:
    """`580.105.08` of libcuda.so.580.105.08; libcuda.so.1 has none."""
    match = re.search(r"\.so\.(\d{3,4}\.\d+(?:\.\d+)?)$", path)
    return match[1] if match else None


def parse_lsmod(said: str) -> tuple[str, ...]:
    """The modules that matter, from `lsmod` or /proc/modules."""
    first = (line.split()[0].replace("-", "_") for line in said.splitlines() if line.strip())
    return tuple(dict.fromkeys(name for name in first if name in MODULES))


def parse_parameters(said: str) -> tuple[tuple[str, str], ...]:
    """/proc/driver/nvidia/params."""
    return tuple(PARAMETER.findall(said))


def parse_kernels(said: str) -> tuple[str | None, bool | None]:
    """The newest of the lines `kernel RELEASE`, and whether a line `has RELEASE` names it too."""
    lines = [line.split() for line in said.splitlines()]
    pairs = [(words[0], words[1]) for words in lines if len(words) == 2]
    kernels = [name for kind, name in pairs if kind == "kernel" and "rescue" not in name]
    if not kernels:
        return None, None
    newest = max(kernels, key=release_order)
    return newest, newest in {name for kind, name in pairs if kind == "has"}


def release_order(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,9}", release)[:6])


def parse_rocm(said: str) -> str | None:
    """`6.4.1-83` in /opt/rocm/.info/version."""
    match = VERSION.match(said.strip())
    return match[0] if match else None


def parse_devices(said: str) -> bool:
    """Whether /proc/devices names the class of IMEX channels."""
    return "nvidia-caps-imex-channels" in said


def read_arguments(answers: Answers) -> Maybe[str]:
    """The command line of the running kernel."""
    said = answers.text("driver.command-line")
    return said if isinstance(said, Unknown) else said.strip() or Unknown(Why.EMPTY)
