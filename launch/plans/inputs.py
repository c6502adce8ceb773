"""What a plan was made of, digested: flags as typed, the recipe's files, and of each host what the plan reads. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from inventory.facts.base import is_known
from launch.plans.document import Inputs
from playbooks.plan import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inventory.facts.host import Gpus, HostFacts
    from launch.choice import Choice

READ = ("cpu", "numa", "gpus", "rdma", "fabric")


def inputs_of(
    choice: Choice, asked: Sequence[tuple[str, str]], facts: Mapping[str, HostFacts], *, assumed: bool
) -> Inputs:
    """`asked`: flags that were given, by name."""
    seen = {host.name: digest([host.model_dump(mode="json"), _read(facts[host.name])]) for host in choice.hosts}
    recipe = recipe_digest(choice)
    return Inputs(
        digest=digest([sorted(asked), recipe, list(seen.items()), assumed]),
        asked=tuple(sorted(asked)),
        facts=tuple(seen.items()),
        recipe=recipe,
        assumed=assumed,
        simulated=any(facts[host.name].simulated for host in choice.hosts),
    )


def recipe_digest(choice: Choice) -> str:
    """Of the recipe's file as it is, and of the strategies and profiles that it refers to."""
    found = choice.found
    text = hashlib.sha256(found.path.read_bytes()).hexdigest()
    strategies = {name: one.model_dump(mode="json") for name, one in sorted(found.library.strategies.items())}
    profile = found.library.profile(choice.hardware).model_dump(mode="json")
    return digest([found.id, text, strategies, profile])


def _read(facts: HostFacts) -> dict[str, object]:
    """What of a host's facts a plan looks at, without what changes from minute to minute."""
    found: dict[str, object] = {name: _told(getattr(facts, name)) for name in READ}
    if is_known(facts.gpus):
        found["gpus"] = asdict(_lasting(facts.gpus))
    if is_known(facts.network):
        found["network"] = [asdict(facts.network)["interfaces"], asdict(facts.network)["routes"]]
    if is_known(facts.software):
        found["software"] = [facts.software.systemd, facts.software.container]
    if is_known(facts.system):
        found["system"] = [facts.system.architecture, facts.system.user, facts.system.uid, facts.system.can_sudo]
    return found


def _told(value: Any) -> object:  # noqa: ANN401  (a fact of any subject)
    if not is_known(value):
        return str(value)
    return [asdict(one) for one in value] if isinstance(value, tuple) else asdict(value)


def _lasting(gpus: Gpus) -> Gpus:
    """Without the processes that happen to run."""
    return replace(gpus, devices=tuple(replace(gpu, processes=()) for gpu in gpus.devices))
