"""The gang is the unit: what the stop and the start of each host will find when their phase comes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playbooks.plan import ABSENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.running.supervise import RankState

STOPPED = "stopped"
RUNNING = "running"


def all_running(generation: str, ranks: Mapping[str, RankState]) -> bool:
    """Tell whether every host runs its ranks of `generation`: one that is missing makes the group useless."""
    return all(one.state == RUNNING and one.generation == generation for one in ranks.values())


def states_ahead(generation: str, ranks: Mapping[str, RankState], *, intact: bool) -> dict[str, tuple[str, str]]:
    """The states that each host's stop and start steps are planned from.

    Where all ranks of `generation` run, both are as wanted. `intact`: the files that they were started from are as
    planned; where they are not, nobody can tell what it is that runs. Else everything that runs is stopped on every
    host, and every start finds this generation stopped: vLLM never takes a lone rank back into its group.
    """
    if intact and all_running(generation, ranks):
        return dict.fromkeys(ranks, (STOPPED, f"{generation} {RUNNING}"))
    return {
        host: (STOPPED if one.state in {STOPPED, ABSENT} else one.state, f"{generation} {STOPPED}")
        for host, one in ranks.items()
    }
