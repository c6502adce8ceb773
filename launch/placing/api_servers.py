"""How many API servers each host runs: as many as vLLM would, if the cores bear them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from launch.building.command import api_server_count, default_api_servers, is_api_server_count_said
from launch.choosing.reasons import Reason
from launch.placing.placement import LoadBalancing
from launch.placing.processes import processes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inventory.facts.host import HostFacts
    from launch.placing.placement import Node, Placement

SOURCE = "vLLM: optimization and tuning, CPU resources (A + DP + N + 1 processes, a core each)"


def api_servers_of(
    node: Node, placement: Placement, argv: Sequence[str], facts: HostFacts
) -> tuple[int | None, Reason | None]:
    """The number for `node`, None: left as `argv` or vLLM has it; and why. No reason on a host without any."""
    about = f"API servers of {node.host}"
    if not node.serves:
        return None, None
    usual = default_api_servers(node, placement)
    if placement.load_balancing is LoadBalancing.EXTERNAL:
        return None, Reason(about, str(usual), "external load balancing has one for each rank", source=SOURCE)
    if is_api_server_count_said(argv):
        said = api_server_count(argv, node, placement)
        return None, Reason(about, str(said), "as the recipe or --set says", _numbers(usual))
    if not is_known(facts.cpu):
        rule = "vLLM's own number for this mode, written out: the cores of the host are unknown"
        return None, Reason(about, str(usual), rule, source=SOURCE)
    cores = facts.cpu.physical_cores
    if is_known(facts.context) and is_known(facts.context.physical_cores):
        cores = facts.context.physical_cores  # where the ranks run, which may be less than a login has
    fitting = [count for count in range(1, usual + 1) if _total(node, placement, count) <= cores]
    count = max(fitting, default=1)
    total = _total(node, placement, count)
    numbers = (*_numbers(usual), ("processes", str(total)), ("physical cores", str(cores)))
    if not fitting:
        return count, Reason(about, "1", "even one leaves processes without a core", numbers, SOURCE, warns=True)
    rule = "vLLM's number for this mode" if count == usual else "the most that leave a core for each process"
    return count, Reason(about, str(count), rule, numbers, SOURCE)


def _numbers(usual: int) -> tuple[tuple[str, str], ...]:
    return (("of vLLM by default", str(usual)),)


def _total(node: Node, placement: Placement, count: int) -> int:
    return processes_of(node, placement, api_servers=count).total
