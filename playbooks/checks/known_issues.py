"""What is known to hang or crash in certain releases, and the option that avoids it. Data, with where it was told."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playbooks.checks.version import before
from playbooks.requirements import Requirements


@dataclass(frozen=True, slots=True)
class Issue:
    """`since` up to but not `until` (empty: no end). `remedy`: the options of which one must be in the command.

    `driver`: the major release of NVIDIA's driver that it needs to happen. `without_gpudirect`: only where no host has
    GPUDirect RDMA. `option`: that the command must have for it to happen, `--x value`.
    """

    what: str
    source: str
    remedy: tuple[str, ...]
    since: str = "0"
    until: str = ""
    models: str = ".*"
    nodes: int = 1
    driver: str = ""
    option: str = ""
    without_gpudirect: bool = False

    def concerns(self, needs: Requirements) -> bool:
        """Whether the plan alone is of the kind that it happens to."""
        version = needs.vllm_version
        return (
            bool(version or self.since == "0")
            and not before(version, self.since)
            and (not self.until or before(version, self.until))
            and (needs.layout.nodes or len(needs.hosts)) >= self.nodes
            and re.search(self.models, needs.model.id.lower()) is not None
        )


ISSUES = (
    Issue(
        what="start hangs on two nodes: the custom all-reduce of this release waits for ever",
        source="vllm-project/vllm#53894",
        remedy=("--disable-custom-all-reduce",),
        since="0.28.0",
        until="0.29.0",
        models=r"deepseek-v4-pro",
        nodes=2,
    ),
    Issue(
        what="FlashInfer's autotune runs ranks apart where large messages are slow, until the store times out",
        source="vllm-project/vllm#52291, vllm-project/vllm#57423",
        remedy=("--no-enable-flashinfer-autotune", "--disable-flashinfer-autotune"),
        nodes=2,
        without_gpudirect=True,
    ),
    Issue(
        what="DeepEP's high-throughput kernels fail with cudaErrorIllegalAddress",
        source="llm-d/llm-d#2379",
        remedy=(),
        driver="580",
        option="--all2all-backend deepep_high_throughput",
    ),
)
