"""The hub's client on hosts that have no engine yet: a small environment, made like an engine's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from launch.building.command import Program
from launch.building.engine import Engine, sources_of
from launch.building.image_engine import runs_from_image
from launch.building.offline import cargo_of, target_of, with_wheelhouse
from launch.building.requirements import Download
from launch.building.wheelhouses import UNREACHED, reach_script, wheels
from playbooks.environments import load_environment
from playbooks.layout import Layout
from playbooks.steps.python_env import python_env

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.fleet import Fleet
    from inventory.schema import Host
    from inventory.transport.base import Transport
    from launch.choosing.choice import Choice
    from playbooks.plan import Step

CLIENT = ("huggingface-hub", "2.4.0")
ASK_S = 30.0


def client_folder(host: Host) -> str:
    return Layout(host.state_dir).tool(load_environment(*CLIENT).digest)


def engine_environment(choice: Choice) -> str | None:
    """The digest of the engine's environment, which has the client too; None: an image has the engine."""
    if runs_from_image(choice):
        return None
    try:
        return load_environment(choice.found.recipe.bringup.distribution, choice.vllm).digest
    except BringupError:
        return None


def client_steps(
    fleet: Fleet, hosts: Sequence[str], facts: Mapping[str, HostFacts], addresses: Mapping[str, str]
) -> dict[str, tuple[Step, ...]]:
    """What installs the client on `hosts`; where no package index answers, its wheels go there from here."""
    why = fleet.each(lambda transport: _reached(transport, fleet.hosts[transport.host]), hosts)
    return {name: _steps(fleet.hosts[name], facts[name], why[name], addresses) for name in hosts}


def _reached(transport: Transport, host: Host) -> str:
    if host.internet is False:
        return UNREACHED
    return transport.run(reach_script(host), timeout=ASK_S).text.partition(" ")[0].strip()


def _steps(host: Host, facts: HostFacts, reached: str | BringupError, addresses: Mapping[str, str]) -> tuple[Step, ...]:
    if isinstance(reached, BringupError):
        raise reached
    wanted, folder = load_environment(*CLIENT), client_folder(host)
    made = python_env(wanted, folder=folder, sources=sources_of(host))
    if reached != UNREACHED:
        return (made,)
    engine = Engine(
        digest=wanted.digest,
        gpu_runtime=None,
        program=Program(f"{folder}/bin/{wanted.program}", "", "", ""),
        python=f"{folder}/bin/python",
        steps=(made,),
        downloads=(Download("environment", folder, wanted.size_bytes, present=False),),
        wanted=wanted,
        environment=folder,
    )
    target = target_of(facts, wanted)
    cargo = cargo_of(host, wanted, target, wheels(wanted, target, host), addresses)
    return with_wheelhouse(engine, cargo, target).steps
