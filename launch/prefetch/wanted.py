"""Which checkpoints a launch reads, and where they lie on its hosts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.catalogue.draft import draft_of
from launch.choosing.decide import of_head
from launch.choosing.fitting import fitting
from playbooks.layout import Layout

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.catalogue.find import Found
    from launch.choosing.choice import Choice
    from launch.request import Request


@dataclass(frozen=True, slots=True)
class WantedWeights:
    """A repository and the commit that is pinned for it; None: nothing pins one."""

    repo: str
    commit: str | None

    def folder(self, host: Host, commit: str) -> str:
        return Layout(host.state_dir).weights(self.repo, commit)


@dataclass(frozen=True, slots=True)
class WantedOfLaunch:
    """`made`: they are made on the hosts by the deploy, there is nothing to fetch."""

    choice: Choice
    weights: tuple[WantedWeights, ...]
    made: bool


def wanted_of(found: Found, request: Request, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> WantedOfLaunch:
    """The model's weights, and those of a draft model that its command names. Raises what leaves no choice."""
    return wanted_by(fitting(found, request, hosts, facts), request)


def wanted_by(choice: Choice, request: Request) -> WantedOfLaunch:
    extra = choice.found.recipe.bringup
    if extra.random:
        return WantedOfLaunch(choice, (), made=True)
    pinned = extra.revisions.get(choice.variant)
    first = WantedWeights(choice.model_id, choice.revision or (pinned.revision if pinned else None))
    draft = draft_of(of_head(choice, request, len(choice.hosts)).argv, choice.vllm)
    its = extra.drafts.get(draft) if draft else None
    drafts = (WantedWeights(draft, its.revision if its else None),) if draft else ()
    return WantedOfLaunch(choice, (first, *drafts), made=False)
