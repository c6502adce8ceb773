"""NVIDIA GPUs: nvidia-smi's answers joined with the PCI bus and the NUMA nodes."""

from __future__ import annotations

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.nvidia_csv import parse_capabilities, parse_csv, parse_listing
from inventory.facts.gpu.nvidia_failures import find_failure, find_lost_gpus
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer, NvidiaGpu
from inventory.facts.gpu.nvidia_table import parse_table
from inventory.facts.gpu.nvidia_text import parse_text
from inventory.facts.gpu.nvidia_xml import parse_xml
from inventory.facts.gpu.paths import nic_links
from inventory.facts.gpu.pci import NVIDIA, PciDevice, gpus_of
from inventory.facts.gpu.quantity import parse_count, parse_number, parse_switch, parse_yes, told
from inventory.facts.gpu.topology import Affinity, Matrix, cpu_node, distances, parse_matrix
from inventory.facts.host import Gpu, GpuHealth, Gpus, NumaNode
from inventory.facts.system import is_simulated

# The fullest first. The table is the last resort: it cuts names.
ANSWERS = (
    ("nvidia.xml", parse_xml),
    ("nvidia.text", parse_text),
    ("nvidia.csv", parse_csv),
    ("nvidia.table", parse_table),
    ("nvidia.list", parse_listing),
)


def read_nvidia(answers: Answers, pci: tuple[PciDevice, ...], nodes: tuple[NumaNode, ...]) -> Maybe[Gpus]:
    """The host's NVIDIA GPUs, or why nvidia-smi does not tell them."""
    answer = first_answer(answers)
    if isinstance(answer, Unknown):
        return answer
    capability = answers.text("nvidia_capability.csv")
    capabilities = {} if isinstance(capability, Unknown) else parse_capabilities(capability)
    matrix = answers.text("nvidia_topology.matrix")
    told_by_matrix = Matrix() if isinstance(matrix, Unknown) else parse_matrix(matrix)
    where = Places({one.address: one for one in pci}, told_by_matrix.affinities, nodes)
    shown = {one.pci_address for one in answer.gpus}
    return Gpus(
        vendor="nvidia",
        driver=answer.driver,
        runtime_ceiling=answer.cuda,
        devices=tuple(
            gpu_fact(index, one, where.node_of(index, one.pci_address), capabilities.get(one.pci_address))
            for index, one in enumerate(answer.gpus)
        ),
        simulated=is_simulated(answers),
        hidden=tuple(one.address for one in gpus_of(NVIDIA, pci) if "" not in shown and one.address not in shown),
        links=distances(told_by_matrix)
        if len(told_by_matrix.gpus) == len(answer.gpus)
        else nic_links(answers, [one.pci_address for one in answer.gpus], pci),
    )


def first_answer(answers: Answers) -> Maybe[NvidiaAnswer]:
    """The fullest answer that lists a GPU; else the failure that the tool, or the kernel's log, names."""
    for name, parse in ANSWERS:
        item = answers.item(name)
        if not isinstance(item, Unknown):
            answer = parse(item.text)
            if not isinstance(answer, Unknown) and answer.gpus:
                return answer
    return failure(answers)


def failure(answers: Answers) -> Unknown:
    """Why nvidia-smi lists nothing. A kernel log that names a GPU off the bus explains the tool's vaguer words."""
    asked = answers.item("nvidia.xml")
    if isinstance(asked, Unknown):
        return asked
    if asked.status == 127:
        return Unknown(Why.MISSING_TOOL, "nvidia-smi is not installed")
    said = "\n".join(texts(answers, "nvidia.xml", "nvidia.csv", "nvidia.list", "nvidia.text", "nvidia.table"))
    named = find_failure(said)
    log = "\n".join(texts(answers, "nvidia.kernel"))
    logged = find_failure(log)
    if logged and (named is None or named.name in {"one_gpu_lost", "no_devices", "gpu_lost"}):
        named = logged
    if named is None:
        return asked.reason if asked.status or not asked.out.strip() else Unknown(Why.UNREADABLE, asked.complaint)
    why = Why.REFUSED if named.name == "no_permission" else Why.UNREADABLE
    lost = ", ".join(gpu.address for gpu in find_lost_gpus(log))
    where = f" (the kernel names {lost})" if lost else ""
    return Unknown(why, f"{named.name}: {named.cause}{where} (nvidia-smi: {asked.complaint})")


def texts(answers: Answers, *names: str) -> list[str]:
    items = (answers.item(name) for name in names)
    return [
        part.decode("utf-8", errors="replace")
        for item in items
        if not isinstance(item, Unknown)
        for part in (item.out, item.err)
    ]


class Places:
    """Which NUMA node a GPU is near: the PCI bus says, else nvidia-smi's matrix, else there is only one."""

    def __init__(
        self, devices: dict[str, PciDevice], affinities: dict[int, Affinity], nodes: tuple[NumaNode, ...]
    ) -> None:
        self.devices = devices
        self.affinities = affinities
        self.with_cpus = [node.id for node in nodes if node.cpus]

    def node_of(self, index: int, address: str) -> int | None:
        device = self.devices.get(address)
        if device and device.numa_node is not None and device.numa_node in self.with_cpus:
            return device.numa_node
        row = self.affinities.get(index)
        if row and (node := cpu_node(row.numa, self.with_cpus)) is not None:
            return node
        return self.with_cpus[0] if len(self.with_cpus) == 1 else None


def gpu_fact(index: int, one: NvidiaGpu, node: int | None, capability: str | None) -> Gpu:
    return Gpu(
        index=index,
        name=one.name,
        uuid=one.uuid,
        memory_bytes=one.memory_bytes,
        pci_address=one.pci_address,
        numa_node=node,
        compute_capability=capability,
        mig_enabled=one.mig_enabled,
        processes=one.processes,
        health=health(one),
        free_bytes=one.free_bytes,
    )


def health(one: NvidiaGpu) -> GpuHealth:
    return GpuHealth(
        persistence=parse_switch(one.persistence or ""),
        ecc=parse_switch(one.ecc or ""),
        remap_pending=parse_yes(one.remap_pending or ""),
        remap_failure=parse_yes(one.remap_failure or ""),
        recovery_action=one.recovery_action,
        compute_mode=one.compute_mode,
        addressing_mode=one.addressing_mode,
        fabric_state=unless_absent(one.fabric_state),
        fabric_status=unless_absent(one.fabric_status),
        fabric_clique=told(one.fabric_clique or ""),
        fabric_cluster=told(one.fabric_cluster or ""),
        mig_devices=one.mig_devices,
        fabric_health=tuple((name, said) for name, said in one.fabric_health if told(said)),
        peer_type=told(one.peer_type or ""),
        remapped_rows=parse_count(one.remapped_rows or ""),
        uncorrectable_errors=total(one.uncorrectable),
        slowdowns=active(one.slowdowns),
        power_limit_w=parse_number(one.power_limit or ""),
        clock_max_mhz=parse_count((one.clock_max or "").removesuffix(" MHz")),
        vbios=told(one.vbios or ""),
    )


def unless_absent(said: str | None) -> str | None:
    """`Not Supported` is an answer here: a GPU that should be in a fabric and is not. `N/A`: it belongs to none."""
    return None if said is None or said.strip("[]") in {"", "N/A"} else said


def total(counters: tuple[str, ...]) -> int | None:
    """None where no counter has a number."""
    numbers = [number for said in counters if (number := parse_count(said)) is not None]
    return sum(numbers) if numbers else None


def active(reasons: tuple[tuple[str, str], ...]) -> tuple[str, ...] | None:
    """None where the tool tells of none of them."""
    known = [(name, said) for name, said in reasons if said in {"Active", "Not Active"}]
    return tuple(name for name, said in known if said == "Active") if known else None
