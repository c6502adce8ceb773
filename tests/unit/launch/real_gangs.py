"""Gangs of whole hosts of tests/fixtures/hosts, for tests of what is decided from CPUs and NUMA nodes."""

from __future__ import annotations

from dataclasses import replace

from inventory.facts.base import NOT_ASKED, Maybe
from inventory.facts.host import HostFacts, NumaBind
from inventory.schema import Host
from launch.building.command import Program
from launch.catalogue.find import Catalogue
from launch.choosing.decide import Decision, choose, decide
from launch.request import Request
from tests.answered import facts, fixture
from tests.unit.launch.gangs import hosts, network

OURS = Catalogue.of()
PROGRAM = Program("/s/envs/e/bin/vllm", "/s/weights/m/c", "/s/caches", "model")


def binds(*nodes: int, memory: bool = True) -> NumaBind:
    return NumaBind(numactl=True, cpu=nodes, memory=nodes if memory else ())


def gang(kind: str, count: int, numa_bind: Maybe[NumaBind] = NOT_ASKED) -> tuple[list[Host], dict[str, HostFacts]]:
    """`count` hosts like the fixture `kind`, on one network, of which `numa_bind` is known."""
    members, one = hosts(count), facts(fixture(kind))
    seen = {
        host.name: replace(one, host=host.name, network=network(index, members), numa_bind=numa_bind, context=NOT_ASKED)
        for index, host in enumerate(members)
    }
    return members, seen


def decided(request: Request, members: list[Host], seen: dict[str, HostFacts]) -> Decision:
    choice = choose(OURS.find(request.model), request, members, seen)
    return decide(choice, request, seen, {host.name: PROGRAM for host in members})


def words(decision: Decision, host: int = 0) -> str:
    return " ".join(decision.commands[host].argv)


def reason(decision: Decision, about: str) -> str:
    """All reasons for one decision, as shown."""
    found = [str(one) for one in decision.placement.reasons if one.decision.startswith(about)]
    assert found, f"no reason for {about}"
    return "\n".join(found)
