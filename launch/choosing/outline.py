"""One launch as decided for these hosts: what `plan` shows and `deploy` carries out. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import BringupError, Several, raise_all
from launch.building.command import Program
from launch.building.engine import Engine, engines_of, weights_commit
from launch.catalogue.draft import draft_of
from launch.choosing.choice import Choice, obstacles
from launch.choosing.decide import Decision, decide, of_head
from launch.choosing.fitting import fitting
from playbooks.layout import Layout

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.catalogue.find import Found
    from launch.request import Request

BY_HAND = "/usr/local/bin/vllm"
"""Where images have it."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A decision for the deployment `name`.

    `obstacles`: why bringup would not carry it out; then there are no `engines`. `commit` pins the weights; None:
    nothing does.
    """

    name: str
    request: Request
    decision: Decision
    engines: Mapping[str, Engine]
    obstacles: tuple[BringupError, ...]
    commit: str | None

    @property
    def choice(self) -> Choice:
        return self.decision.choice


def outline(found: Found, request: Request, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> Outline:
    """Decide. Raises `BadInput` or `CheckFailed` for what leaves nothing to plan."""
    choice = fitting(found, request, hosts, facts)
    name = request.name or choice.slug
    errors = obstacles(choice)
    engines: Mapping[str, Engine] = {}
    try:
        draft = draft_of(of_head(choice, request, len(choice.hosts)).argv, choice.vllm)
        engines = engines_of(choice, choice.hosts, facts, served_name=name, draft=draft)
    except BringupError as error:
        errors += error.errors if isinstance(error, Several) else (error,)
    if errors:
        engines = {}
    programs = {host: one.program for host, one in engines.items()} or _by_hand(choice, name)
    return Outline(name, request, decide(choice, request, facts, programs), engines, tuple(errors), _commit(choice))


def launched(found: Found, request: Request, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> Outline:
    """The same for a deploy. Raises also what bringup does not carry out."""
    one = outline(found, request, hosts, facts)
    raise_all(list(one.obstacles))
    return one


def _by_hand(choice: Choice, name: str) -> dict[str, Program]:
    """Where an image, or people, would have the program; the weights where bringup would put them."""
    commit = _commit(choice)
    found = {}
    for host in choice.hosts:
        layout = Layout(host.state_dir)
        weights = layout.weights(choice.model_id, commit) if commit else choice.model_id
        found[host.name] = Program(BY_HAND, weights, layout.caches, name)
    return found


def _commit(choice: Choice) -> str | None:
    try:
        return weights_commit(choice)
    except BringupError:
        return None
