"""AMD GPUs: amd-smi or rocm-smi where they answer, the kernel's own compute nodes (KFD) where they do not."""

from __future__ import annotations

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.amd_gpu import AmdAnswer, AmdGpu
from inventory.facts.gpu.amd_smi import parse_amd_smi
from inventory.facts.gpu.amd_text import parse_amd_text
from inventory.facts.gpu.kfd import parse_gpu_links, parse_kfd
from inventory.facts.gpu.paths import nic_links
from inventory.facts.gpu.pci import AMD, PciDevice, gpus_of
from inventory.facts.gpu.rocm_smi import parse_rocm_smi
from inventory.facts.gpu.rocm_text import parse_rocm_text
from inventory.facts.host import Gpu, Gpus, Link, NumaNode
from inventory.facts.system import is_simulated


def read_amd(answers: Answers, pci: tuple[PciDevice, ...], nodes: tuple[NumaNode, ...]) -> Maybe[Gpus]:
    """The host's AMD GPUs, or why nothing tells them."""
    answer = first_answer(answers)
    if isinstance(answer, Unknown):
        return answer
    on_bus = {one.address: one for one in pci}
    with_cpus = [node.id for node in nodes if node.cpus]
    shown = {one.pci_address for one in answer.gpus}
    return Gpus(
        vendor="amd",
        driver=answer.driver or IN_KERNEL,
        runtime_ceiling=None,
        devices=tuple(gpu_fact(index, one, on_bus, with_cpus) for index, one in enumerate(answer.gpus)),
        simulated=is_simulated(answers),
        hidden=tuple(one.address for one in gpus_of(AMD, pci) if "" not in shown and one.address not in shown),
        links=gpu_links(answers, answer.gpus) + nic_links(answers, [one.pci_address for one in answer.gpus], pci),
    )


def gpu_links(answers: Answers, gpus: tuple[AmdGpu, ...]) -> tuple[Link, ...]:
    text = answers.text("amd.kfd")
    return () if isinstance(text, Unknown) else parse_gpu_links(text, [one.pci_address for one in gpus])


IN_KERNEL = "amdgpu of the kernel"
"""The driver that comes with the kernel has no version of its own."""
OTHERWISE = (
    ("amd.static-text", parse_amd_text),
    ("amd.rocm", parse_rocm_smi),
    ("amd.rocm-text", parse_rocm_text),
    ("amd.kfd", parse_kfd),
)


def first_answer(answers: Answers) -> Maybe[AmdAnswer]:
    static, listed = answers.item("amd.static"), answers.item("amd.list")
    if not isinstance(static, Unknown):
        held = answers.item("amd.process")
        answer = parse_amd_smi(
            static.text,
            "" if isinstance(listed, Unknown) else listed.text,
            "" if isinstance(held, Unknown) else held.text,
        )
        if not isinstance(answer, Unknown):
            return answer
    for name, parse in OTHERWISE:
        item = answers.item(name)
        if not isinstance(item, Unknown):
            answer = parse(item.text)
            if not isinstance(answer, Unknown):
                return answer
    return silence(answers)


def silence(answers: Answers) -> Unknown:
    """The first reason that is more than a tool that is not installed."""
    items = [answers.item(name) for name in ("amd.static", "amd.rocm", "amd.kfd")]
    reasons = [item if isinstance(item, Unknown) else item.reason for item in items]
    told = [one for one in reasons if one.why not in {Why.MISSING_TOOL, Why.NOT_ASKED, Why.EMPTY}]
    hung = [one for one in told if one.why in {Why.TIMED_OUT, Why.REFUSED}]
    return (hung or [Unknown(Why.MISSING_TOOL, "neither amd-smi nor rocm-smi, and no amdgpu driver (/sys/class/kfd)")])[
        0
    ]


def gpu_fact(index: int, one: AmdGpu, on_bus: dict[str, PciDevice], with_cpus: list[int]) -> Gpu:
    device = on_bus.get(one.pci_address)
    told = (device.numa_node if device else None, one.numa_node)
    near = [node for node in told if node is not None and node in with_cpus]
    only = with_cpus if len(with_cpus) == 1 else [None]
    return Gpu(
        index=index,
        name=one.name,
        uuid=one.uuid,
        memory_bytes=one.memory_bytes,
        pci_address=one.pci_address,
        numa_node=near[0] if near else only[0],
        compute_capability=one.gfx,
        mig_enabled=None,
        processes=one.processes,
    )
