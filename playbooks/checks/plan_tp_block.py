from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.tp_block"
PRIORITY = Priority.P0
WHY = "a slice of an expert that is no whole number of quantisation blocks is refused while the weights load"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    size, block = needs.model.moe_intermediate_size, needs.model.quantization_block
    tensor = needs.layout.tensor_parallel
    if size is None or block is None or tensor is None:
        return (skip(ID, "", "the plan does not tell the experts' size, the quantisation block and TP"),)
    if needs.layout.expert_parallel:
        return (Finding(ID, Status.PASS, "", f"experts of {size} are whole: expert parallelism does not slice them"),)
    slice_text = f"{size} / TP {tensor} = {size / tensor:g}"
    required = f"the experts' intermediate size over TP is a multiple of the quantisation block of {block}"
    if size % tensor or (size // tensor) % block:
        left = f", which leaves {(size // tensor) % block} of a block of {block}" if size % tensor == 0 else ""
        remedy = f"{lower(size, block, tensor)}; or whole experts: --strategy multi_node_dep"
        return (Finding(ID, Status.FAIL, "", slice_text + left, required, remedy),)
    return (Finding(ID, Status.PASS, "", f"{slice_text}, a multiple of {block}"),)


def lower(size: int, block: int, tensor: int) -> str:
    """The largest TP below `tensor` that cuts whole blocks."""
    fitting = [each for each in range(1, tensor) if size % each == 0 and (size // each) % block == 0]
    return f"--set tensor-parallel-size={fitting[-1]}" if fitting else "no TP cuts whole blocks"
