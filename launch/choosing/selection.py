"""Which of the hosts take part, in which order, and who is the head: from facts. Pure; refuses with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import BadInput, CheckFailed
from inventory.facts.base import is_known
from inventory.quoting import quote
from inventory.ranges import fold
from launch.choosing.hardware import profile_of
from launch.choosing.reasons import Reason
from launch.placing.addresses import target_of
from launch.placing.usable import usable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inventory.facts.host import HostFacts
    from inventory.schema import Host

MOST_HEADS = 4
"""Hosts of which a refusal says who does not reach them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """`hosts`: the gang, the head first. `left_out`: hosts that were asked for and do not take part, and why."""

    hosts: tuple[Host, ...]
    left_out: tuple[tuple[str, str], ...]
    reasons: tuple[Reason, ...]


def select(hosts: Sequence[Host], facts: Mapping[str, HostFacts], nodes: int | None) -> Selection:
    """All `hosts`, or the `nodes` best of them: of one kind, with the most usable GPUs, in one NVLink domain.

    Raises `BadInput` when there are fewer, and `CheckFailed` when no host can be reached by all others.
    """
    taken, why = _taken(hosts, facts, nodes)
    ordered = _head_first(taken, facts)
    left = tuple((host.name, _why_not(host, taken, facts)) for host in hosts if host not in taken)
    return Selection(ordered, left, (why, *_head_reason(taken, ordered)))


def _taken(hosts: Sequence[Host], facts: Mapping[str, HostFacts], nodes: int | None) -> tuple[tuple[Host, ...], Reason]:
    if nodes is not None and nodes > len(hosts):
        raise BadInput(
            f"--nodes {nodes} contradicts --hosts",
            id="override-contradicts",
            observed=f"--nodes {nodes} (typed), and {len(hosts)} host(s): {', '.join(h.name for h in hosts)} (--hosts)",
            required=f"{nodes} hosts, or fewer --nodes",
            next_command=f"the same command with {nodes - len(hosts)} more host(s) in --hosts",
        )
    if nodes is None or nodes == len(hosts):
        rule = "as many as were asked for" if nodes is None else "all that were asked for"
        return tuple(hosts), Reason("nodes", str(len(hosts)), rule, source="--hosts" if nodes is None else "--nodes")
    groups = list(_groups(hosts, facts))
    group = next(group for group in groups if len(group) >= nodes)
    rule = "of those asked for, the first of one kind that have the most usable GPUs and share an NVLink domain"
    numbers = (("asked for", str(len(hosts))), ("alike", str(len(group))))
    best = sorted(group, key=lambda host: -len(_usable(facts[host.name])))[:nodes]
    return tuple(host for host in hosts if host in best), Reason("nodes", str(nodes), rule, numbers, "--nodes")


def _groups(hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> Iterator[list[Host]]:
    """Groups of hosts, the best first: the same GPUs and domain, the same GPUs, the same kind, all."""
    keys = {host.name: _key(facts[host.name]) for host in hosts}
    for depth in (3, 2, 1, 0):
        united: dict[tuple[object, ...], list[Host]] = {}
        for host in hosts:
            united.setdefault(keys[host.name][:depth], []).append(host)
        yield from sorted(united.values(), key=lambda group: -len(_usable(facts[group[0].name])))


def _key(facts: HostFacts) -> tuple[object, ...]:
    return (str(profile_of(facts)), len(_usable(facts)), clique_of(facts))


def _usable(facts: HostFacts) -> tuple[object, ...]:
    return usable(facts.gpus) if is_known(facts.gpus) else ()


def clique_of(facts: HostFacts) -> str | None:
    """The NVLink domain of a host's GPUs, cluster and clique; None where none is told, or not one for all."""
    if not is_known(facts.gpus):
        return None
    found = {(gpu.health.fabric_cluster, gpu.health.fabric_clique) for gpu in facts.gpus.devices}
    cluster, clique = found.pop() if len(found) == 1 else (None, None)
    return f"{cluster}/{clique}" if cluster and set(cluster) - set("0-") else None


def _why_not(host: Host, taken: Sequence[Host], facts: Mapping[str, HostFacts]) -> str:
    ours, theirs = _key(facts[host.name]), _key(facts[taken[0].name])
    words = ("it is {}, the others are {}", "it has {} usable GPU(s), the others {}", "NVLink domain {}, the others {}")
    differing = (text.format(a, b) for text, a, b in zip(words, ours, theirs, strict=True) if a != b)
    return next(differing, "not needed: --nodes asks for fewer hosts")


def _head_first(hosts: tuple[Host, ...], facts: Mapping[str, HostFacts]) -> tuple[Host, ...]:
    """The first host that all others have a route to, then the others as they were."""
    reached = (one for one in hosts if all(_reaches(other, one, facts) for other in hosts if other is not one))
    head = next(reached, None)
    if head is None:
        missing = {one.name: [o.name for o in hosts if o is not one and not _reaches(o, one, facts)] for one in hosts}
        nearest = sorted(missing, key=lambda name: len(missing[name]))[:MOST_HEADS]
        others = f"; and {len(missing) - MOST_HEADS} more alike" if len(missing) > MOST_HEADS else ""
        raise CheckFailed(
            "no host can be the head: none is reached by all others",
            id="net.head_addr",
            observed="; ".join(f"{name} is not reached by {fold(missing[name])}" for name in nearest) + others,
            required="one host to which all others have a route that does not end at themselves",
            next_command=f"invoke probe --hosts {quote(fold(list(missing)))} --host-detail",
        )
    return (head, *(host for host in hosts if host is not head))


def _reaches(host: Host, head: Host, facts: Mapping[str, HostFacts]) -> bool:
    """Whether `host` has a route to `head`. Unknown facts are no proof that it has none."""
    network = facts[host.name].network
    if not is_known(network) or head.fabric_interface:
        return True
    return any(one.to == target_of(head) and one.source and one.interface != "lo" for one in network.routes)


def _head_reason(asked: Sequence[Host], ordered: Sequence[Host]) -> Iterator[Reason]:
    if len(ordered) == 1:
        return
    if ordered[0] is asked[0]:
        yield Reason("head", ordered[0].name, "the first of --hosts: all others have a route to it", source="routes")
        return
    passed = asked[: asked.index(ordered[0])]
    numbers = (("passed over", ", ".join(host.name for host in passed)),)
    yield Reason("head", ordered[0].name, "the first host that all others have a route to", numbers, "routes", True)  # noqa: FBT003
