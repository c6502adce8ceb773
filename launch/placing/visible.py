"""Which GPUs the processes of a host see, where these are not simply the first ones. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.facts.base import is_known

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from launch.placing.placement import Node


def visible_env(node: Node, facts: HostFacts) -> dict[str, str]:
    """The variables that name the GPUs of `node` in the order of its ranks, as vLLM divides them among these.

    None where the ranks take the first GPUs in their order, as vLLM does by itself. Indices are those that the
    vendor's tool prints: CUDA counts so only when it is told to.
    """
    used = [gpu for rank in node.ranks for gpu in rank.gpus]
    if used == list(range(len(used))) or not is_known(facts.gpus):
        return {}
    listed = ",".join(map(str, used))
    if facts.gpus.vendor == "amd":
        return {"HIP_VISIBLE_DEVICES": listed}
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": listed}
