"""What compiled code was made with, as one digest: caches of another build lie in another folder. Pure.

The folder of a launch's caches is named after the stamp, so a launch never sees what another build compiled, and what
it compiles itself is found again only by a launch of the same stamp. What vLLM folds into its own keys (model, options,
layout) is not in it: caches of several models of one build share the folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from playbooks.checks.sto_cache_env import OF_ONE_HOST, keyed
from playbooks.plan import digest

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts

FILE = ".bringup-stamp.json"
PACKAGES = {"torch": "torch", "flashinfer": "flashinfer-python", "triton": "triton"}


@dataclass(frozen=True, slots=True)
class Stamp:
    """`made_with`: name and version of what compiles; what is not known is not in it. `environment`: of the ranks."""

    made_with: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        return digest([self.made_with, self.environment])

    def text(self, folder: str) -> str:
        """The file that lies beside the caches of `folder`, for people and for the checks."""
        told = {
            "format_version": 1,
            "stamp": self.digest,
            **dict(self.made_with),
            "home": folder,
            "path": f"{folder}/vllm",
            "environment": dict(self.environment),
        }
        return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def stamp_of(
    vllm: str,
    packages: Sequence[tuple[str, str]],
    facts: HostFacts,
    env: Mapping[str, str],
    *,
    program: str,
    image: str = "",
) -> Stamp:
    """The stamp of a launch on one host: `packages` of its environment's lock, `env` that its ranks will have.

    `program`: path of the vLLM that runs, because compiled code is bound to the paths of its sources. `image`: what
    has the build where no lock does.
    """
    versions = dict(packages)
    made = {"vllm": vllm, "program": program, "image": image}
    made |= {name: versions.get(package, "") for name, package in PACKAGES.items()}
    made |= {"architecture": architecture(facts), "driver": driver(facts)}
    environment = {name: value for name, value in keyed(tuple(env.items())).items() if name not in OF_ONE_HOST}
    return Stamp(
        tuple((name, value) for name, value in made.items() if value),
        tuple(sorted(environment.items())),
    )


def architecture(facts: HostFacts) -> str:
    """What kernels are compiled for: GPUs by name and capability, the model of the CPU where there is none."""
    gpus = facts.gpus.devices if is_known(facts.gpus) else ()
    if gpus:
        return ", ".join(sorted({f"{one.name} {one.compute_capability or ''}".strip() for one in gpus}))
    return facts.cpu.model if is_known(facts.cpu) else ""


def driver(facts: HostFacts) -> str:
    """As the answer about GPUs has it, without which nothing is placed: no later question can change a stamp."""
    return (facts.gpus.driver or "") if is_known(facts.gpus) else ""
