"""What compiles kernels at the first start, or the wheels that have them compiled already."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import plans_no_gpu
from playbooks.checks.stored import planned_environment
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "rt.jit_tools"
PRIORITY = Priority.P1
WHY = "without a compiler and without compiled kernels the fast ones are switched off, or the first request fails"

_COMPILERS = {"nvidia": "nvcc", "amd": "hipcc"}
_WHEELS = {"nvidia": ("nvidia-cuda-nvcc", "flashinfer-cubin", "flashinfer-jit-cache"), "amd": ("amd-aiter", "aiter")}


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.container is not None:
        return (skip(ID, "", "the image brings its own compilers"),)
    return tuple(of_host(facts[one.host], one, needs) for one in needs.hosts if one.host in facts)


def vendor_of(needs: Requirements) -> str | None:
    """By the plan's hardware or the build's CUDA, where the host does not tell."""
    if needs.hardware:
        return "amd" if needs.hardware.startswith("mi") else "nvidia"
    return "nvidia" if any(name.startswith("nvidia-") for name, _ in needs.build.packages) else None


def of_host(facts: HostFacts, host: HostRequirements, needs: Requirements) -> Finding:
    if plans_no_gpu(host) or facts.simulated:
        return skip(ID, facts.host, "the plan uses no GPU here that kernels could be compiled for")
    vendor = facts.gpus.vendor if is_known(facts.gpus) else vendor_of(needs)
    if vendor is None or not is_known(facts.software) or facts.software.compilers is None:
        return skip(ID, facts.host, "the vendor of the GPUs or the compilers of the host are not known")
    compiler, wheels = _COMPILERS.get(vendor), _WHEELS.get(vendor, ())
    found = [path for path in facts.software.compilers if path.rpartition("/")[2] == compiler]
    environment = planned_environment(facts, needs.environment, needs.vllm_version)
    packages = dict(environment.packages if environment else needs.build.packages)
    found += [f"{name} {packages[name]}" for name in wheels if name in packages]
    if found:
        return Finding(ID, Status.PASS, facts.host, ", ".join(found))
    required = f"{compiler}, or the wheels {' or '.join(wheels)}"
    by_hand = f"{ON_HOST}install the toolkit of the driver's version, or `vllm download-kernels` in the environment"
    remedy = by_playbook(facts.host, "amd --value rocm_on_host=yes" if vendor == "amd" else "nvidia", by_hand)
    return Finding(ID, Status.FAIL, facts.host, f"no {compiler} and no compiled kernels", required, remedy)
