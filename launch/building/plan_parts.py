"""What checks compare of a decision besides places: model, layout, build, weights, how the ranks talk. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from inventory.facts.base import is_known
from launch.choosing.hardware import CPU
from launch.placing.placement import LoadBalancing
from launch.vllm_args.parse import parse
from playbooks.argv import options
from playbooks.racks import RACKS
from playbooks.requirements import Build, Demands, ExpectedWeights, Layout, Model

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from launch.building.command import HostCommand
    from launch.choosing.decide import Choice, Decision
    from launch.vllm_args.parse import Parsed
    from playbooks.environments import EnvironmentDefinition

Support = Literal["verified", "supported", "unsupported", "unlisted"]

PARSER_OPTIONS = ("--tool-call-parser", "--reasoning-parser")
MODE_OPTION = "--tokenizer-mode"
BALANCING: Mapping[LoadBalancing, Literal["internal", "hybrid", "external"]] = {
    LoadBalancing.INTERNAL: "internal",
    LoadBalancing.HYBRID: "hybrid",
    LoadBalancing.EXTERNAL: "external",
}
LOCKED = re.compile(r"(?m)^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")


def model_of(choice: Choice, revision: str | None) -> Model:
    """What the recipe says of the chosen variant."""
    recipe = choice.found.recipe
    variant = recipe.variant(choice.variant)
    words = [*recipe.model.base_args, *variant.extra_args]
    told = options([*words, *(word for feature in recipe.features.values() for word in feature.args)])
    return Model(
        id=choice.model_id,
        variant=choice.variant,
        minimum_vllm=variant.min_vllm_version or recipe.model.min_vllm_version or None,
        hardware_support=support_of(recipe.meta.hardware, choice.hardware),
        vram_minimum_gb=variant.vram_minimum_gb,
        tokenizer_mode=options(words).get(MODE_OPTION),
        parsers=tuple(f"{flag} {value}" for flag in PARSER_OPTIONS if (value := told.get(flag))),
        revision=revision,
    )


def demands_of(choice: Choice) -> Demands | None:
    told = choice.found.recipe.bringup.requirements
    return Demands(**told.model_dump()) if told else None


def support_of(told: Mapping[str, str], hardware: str) -> Support | None:
    """A recipe's word for a hardware; None where it names none at all. A CPU is for trials: nobody lists it."""
    if not told or (hardware == CPU and hardware not in told):
        return None
    word = told.get(hardware)
    if word is None:
        return "unlisted"
    return "unsupported" if word == "unsupported" else "verified" if word == "verified" else "supported"


def layout_of(decision: Decision) -> Layout:
    placement, choice = decision.placement, decision.choice
    kind = choice.found.recipe.model.architecture
    return Layout(
        nodes=len(placement.nodes),
        tensor_parallel=placement.tensor_parallel_size,
        pipeline_parallel=placement.pipeline_parallel_size,
        data_parallel=placement.data_parallel_size,
        expert_parallel=bool(head_of(decision).get("enable_expert_parallel")),
        moe=kind == "moe" if kind in {"moe", "dense"} else None,
        load_balancing=BALANCING.get(placement.load_balancing),
    )


def build_of(environment: EnvironmentDefinition) -> Build:
    return Build(
        python=environment.requires_python,
        platforms=environment.platforms,
        architectures=environment.architectures,
        packages=packages_of(environment),
        glibc=environment.glibc,
    )


def packages_of(environment: EnvironmentDefinition) -> tuple[tuple[str, str], ...]:
    """Every pinned name and version; a name comes twice where Python versions or platforms get different ones."""
    return tuple(LOCKED.findall("\n".join((environment.lock, *environment.apart))))


def weights_of(command: HostCommand, choice: Choice) -> ExpectedWeights:
    """The folder is named after the commit (playbooks/layout.py)."""
    path = command.argv[2]
    return ExpectedWeights(choice.model_id, path.rpartition("/")[2], path)


def parsed(command: HostCommand, choice: Choice) -> Parsed:
    return parse(command.argv[1:], choice.vllm)


def head_of(decision: Decision) -> Parsed:
    return parsed(decision.commands[0], decision.choice)


def utilization(command: Parsed) -> float | None:
    value: Any = command.get("gpu_memory_utilization")
    return float(value) if isinstance(value, int | float) else None


def talks_rdma(decision: Decision, facts: Mapping[str, HostFacts]) -> bool | None:
    """Whether NCCL will use RDMA: it does by itself where it finds an active port, unless told otherwise.

    None: not every host tells of its ports. Hosts of the lab have none, whatever their profile shows.
    """
    nodes = decision.placement.nodes
    envs = [dict(command.env) for command in decision.commands]
    if len(nodes) < 2 or decision.choice.hardware == CPU:
        return False
    return rdma_of(envs, [facts[node.host] for node in nodes])


def rdma_of(envs: Sequence[Mapping[str, str]], hosts: Sequence[HostFacts]) -> bool | None:
    """The same of several hosts with GPUs, by the environments of their ranks."""
    if any(one.simulated for one in hosts):
        return False
    if any(env.get("NCCL_IB_DISABLE") == "1" or env.get("NCCL_NET") == "Socket" for env in envs):
        return False
    if any(env.get("NCCL_NET") == "IB" or "NCCL_IB_HCA" in env for env in envs):
        return True
    return True if all(has_active_port(one) for one in hosts) else None


def has_active_port(facts: HostFacts) -> bool:
    return is_known(facts.rdma) and any(port.is_active for device in facts.rdma for port in device.ports)


def talks_mnnvl(decision: Decision, facts: Mapping[str, HostFacts]) -> bool | None:
    """Whether tensor or expert parallelism goes over NVLink from tray to tray."""
    placement, choice = decision.placement, decision.choice
    if len(placement.nodes) < 2 or choice.hardware not in RACKS:
        return False
    wide = placement.hosts_per_rank > 1 or bool(layout_of(decision).expert_parallel)
    envs = [dict(command.env) for command in decision.commands]
    return mnnvl_of(envs, [facts[node.host] for node in placement.nodes], wide=wide)


def mnnvl_of(envs: Sequence[Mapping[str, str]], hosts: Sequence[HostFacts], *, wide: bool) -> bool | None:
    """The same of several trays, whose parallelism is `wide` or stays within each."""
    if any(one.simulated for one in hosts):
        return None
    return False if any(env.get("NCCL_MNNVL_ENABLE") == "0" for env in envs) else wide
