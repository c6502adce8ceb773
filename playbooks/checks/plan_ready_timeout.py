from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, gb, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "plan.ready_timeout"
PRIORITY = Priority.P1
WHY = "the API servers give up while the engines still load, and leave processes on the GPUs"

NAME = "VLLM_ENGINE_READY_TIMEOUT_S"
DEFAULT_S = 600
LARGE_BYTES = 200 * 10**9
SMALL_BYTES = 50 * 10**9
"""Up to this the kernels of a first start are compiled within the default, too."""


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    rendered = [one for one in needs.hosts if one.env or one.argv or (one.weights and one.weights.files)]
    if not rendered:
        return (skip(ID, "", "the plan renders no command"),)
    seconds = min(int(value) if (value := dict(one.env).get(NAME, "")).isdigit() else DEFAULT_S for one in rendered)
    size = max(weights_bytes(one, needs) for one in rendered)
    told = f"{NAME} is {seconds} s" + (", the default" if seconds == DEFAULT_S else "")
    cold = any(one.host in facts and is_cold(facts[one.host]) for one in rendered if one.gpus)
    if seconds > DEFAULT_S or (size <= LARGE_BYTES and not (cold and size > SMALL_BYTES)):
        return (Finding(ID, Status.PASS, "", told),)
    observed = f"{told}, for {gb(size)} of weights{' with empty caches' if cold else ''}"
    required = "an hour for the first start of a large model: its kernels are compiled too"
    return (Finding(ID, Status.WARN, "", observed, required, f"put {NAME}: 3600 into the recipe's environment"),)


def is_cold(facts: HostFacts) -> bool:
    return is_known(facts.caches) and facts.caches.empty


def weights_bytes(one: HostRequirements, needs: Requirements) -> int:
    """Bytes of the checkpoint, by its manifest or by the memory that the recipe says it takes; 0 when unknown."""
    if one.weights and one.weights.bytes is not None:
        return one.weights.bytes
    return int((needs.model.vram_minimum_gb or 0) * 10**9)
