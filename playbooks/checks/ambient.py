"""Variables around the ranks: which of them matter, and which of them would be the planned one's rival."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts

LISTENED = re.compile(
    r"(?:VLLM|NCCL|GLOO|CUDA|HIP|ROCR|HF|OMP)_\w+|TORCH\w+|LD_LIBRARY_PATH|\w*_proxy|\w*_PROXY", re.ASCII
)
"""Names that an engine or its libraries act on."""

SECRET = "***"  # noqa: S105  (what stands in place of one)


def environment_of(facts: HostFacts) -> dict[str, str] | None:
    """The variables where ranks start, as far as anybody listens to them; None: not known."""
    if not is_known(facts.context) or not is_known(facts.context.environment):
        return None
    return {name: value for name, value in facts.context.environment if LISTENED.fullmatch(name)}


def rivals(ambient: Mapping[str, str], planned: Mapping[str, str]) -> dict[str, str]:
    """Those that the plan also sets, to something else. What a secret is cannot be compared."""
    return {
        name: value for name, value in ambient.items() if name in planned and planned[name] != value and value != SECRET
    }
