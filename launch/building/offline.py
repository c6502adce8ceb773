"""What a host without a way out is given instead of an index: the wheels of its environment, as a cargo. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from inventory.errors import CheckFailed
from inventory.facts.base import is_known
from launch.building.requirements import Download
from launch.building.sources import WHEELHOUSE
from playbooks.cargo import Cargo, CargoFile
from playbooks.environments import UV_LOCK, EnvironmentDefinition
from playbooks.layout import Layout
from playbooks.steps.python_env import Sources, Wheelhouse, python_env
from playbooks.steps.shipped import shipped
from playbooks.wheelhouse.lock import Pin, read_pins
from playbooks.wheelhouse.python import build_for
from playbooks.wheelhouse.target import Target, normal

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.building.engine import Engine
    from playbooks.plan import Step

OLDEST_GLIBC = "2.28"
"""Taken where neither the host nor the environment tells one: manylinux_2_28, which most wheels are built for."""

MACHINES = ("x86_64", "aarch64")
PYTHON = "cpython-"
"""What the names of archives of Python begin with."""


def is_installed(engine: Engine) -> bool:
    """Whether the environment is there, or an image has it: then nothing is fetched for it."""
    return engine.wanted is None or all(one.present for one in engine.downloads if one.purpose == "environment")


def wanted_of(engine: Engine) -> EnvironmentDefinition:
    assert engine.wanted is not None  # noqa: S101  (asked of engines that are not installed)
    return engine.wanted


def target_of(facts: HostFacts, wanted: EnvironmentDefinition) -> Target:
    """What the wheels must suit: the host's own Python, else one that it is given.

    Raises `CheckFailed` where there is none to give.
    """
    machine = facts.system.architecture if is_known(facts.system) else ""
    minor, given = own_minor(facts, wanted), False
    if minor is None:
        build = build_for(machine, wanted.python_minors)
        minor, given = (build.minor, True) if build else (None, False)
    if minor is None or machine not in MACHINES:
        version = facts.software.python if is_known(facts.software) else None
        raise CheckFailed(
            "the host cannot reach a package index, and has no Python that its environment can be made of",
            id="python-offline",
            observed=f"Python {version or 'none'} on {machine or 'an unknown processor'}",
            required=f"Python {wanted.requires_python} as python3, or a processor that one is pinned for: "
            f"{' or '.join(MACHINES)}",
            next_command=f"on the host: install python3.{wanted.python_minors[-1]} with its headers, and make it "
            "python3; or set internet: true in the inventory where it does have a way out",
            host=facts.host,
        )
    told = facts.glibc if is_known(facts.glibc) else wanted.glibc or OLDEST_GLIBC
    major, _, rest = told.partition(".")
    return Target(minor, machine, (int(major), int(rest)), python_given=given)


def own_minor(facts: HostFacts, wanted: EnvironmentDefinition) -> int | None:
    """The minor version of the host's own `python3` where the environment can be made of it."""
    minor = _minor((facts.software.python or "") if is_known(facts.software) else "")
    return minor if minor in wanted.python_minors else None


def cannot_begin(facts: HostFacts, wanted: EnvironmentDefinition) -> bool:
    """Whether a host with a way out has neither a Python of the range nor a uv that would fetch one."""
    return is_known(facts.software) and own_minor(facts, wanted) is None and facts.software.uv is None


def pins_of(wanted: EnvironmentDefinition, target: Target) -> tuple[tuple[Pin, ...], tuple[Pin, ...]]:
    """What comes from the index of packages, uv among it; and what comes from PyTorch's own."""
    apart = tuple(Pin(normal(name), version) for name, _, version in (one.partition("==") for one in wanted.apart))
    return (*read_pins(wanted.lock, target), *read_pins(UV_LOCK.read_text(), target)), apart


def cargo_of(
    host: Host, wanted: EnvironmentDefinition, target: Target, files: Sequence[CargoFile], addresses: Mapping[str, str]
) -> Cargo:
    layout = Layout(host.state_dir)
    name = f"{wanted.digest}-cp3{target.minor}-{target.machine}"
    made = Cargo(
        folder=layout.wheelhouse(name),
        incoming="",
        files=tuple(files),
        addresses=tuple(addresses.items()),
        proxy=host.proxy.reveal() if host.proxy else None,
        no_proxy=host.no_proxy,
    )
    return replace(made, incoming=layout.incoming(made.digest))


def with_wheelhouse(engine: Engine, cargo: Cargo, target: Target) -> Engine:
    """The same engine, made of what the control machine gives."""
    wanted = wanted_of(engine)
    python = next((one.name for one in cargo.files if target.python_given and one.name.startswith(PYTHON)), None)
    given = shipped(
        cargo,
        what=f"wheels of {wanted.name}{', Python' if python else ''} and uv for {target}",
        why="the host cannot fetch them: the control machine fetches the locked wheels once, and gives them",
        alone=True,
    )
    made = python_env(
        wanted,
        folder=engine.environment,
        sources=Sources(),
        wheelhouse=Wheelhouse(cargo.folder, target.minor, python),
    )
    steps: list[Step] = []
    for step in engine.steps:
        steps += (given, made) if step.id == made.id else (step,)
    return replace(
        engine,
        steps=tuple(steps),
        downloads=(*engine.downloads, Download(WHEELHOUSE, cargo.folder, cargo.size, present=False)),
    )


def _minor(version: str) -> int:
    parts = version.split(".")
    return int(parts[1]) if len(parts) > 1 and parts[0] == "3" and parts[1].isdecimal() else -1
