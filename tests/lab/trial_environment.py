"""A small environment in the place of vLLM's: of wheels that a test made, in the form of a locked one."""

from __future__ import annotations

import hashlib

from playbooks.environments import EnvironmentDefinition

SAYS = "1.0+trial"


def trial_environment(lock: str) -> EnvironmentDefinition:
    """What `lock`, lines of `name==version --hash=sha256:...`, installs on any Python that is about."""
    return EnvironmentDefinition(
        name="trial-engine-1.0",
        vllm="1.0",
        says=SAYS,
        requires_python=">=3.9,<3.16",
        python_minors=tuple(range(9, 16)),
        lock=lock,
        apart=(),
        compiles=False,
        gpu_runtime=None,
        size_bytes=1_000_000,
        added={},
        digest=hashlib.sha256(lock.encode()).hexdigest()[:16],
    )
