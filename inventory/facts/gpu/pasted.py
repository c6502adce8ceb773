"""GPUs in what a person pasted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.collect_env import Report
from inventory.facts.gpu import amd
from inventory.facts.gpu.amd_gpu import AmdAnswer
from inventory.facts.gpu.amd_smi import parse_amd_smi
from inventory.facts.gpu.amd_text import parse_amd_text
from inventory.facts.gpu.nvidia import Places, gpu_fact
from inventory.facts.gpu.nvidia_csv import parse_csv, parse_listing
from inventory.facts.gpu.nvidia_failures import find_failure
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer, NvidiaGpu
from inventory.facts.gpu.nvidia_table import parse_table
from inventory.facts.gpu.nvidia_text import parse_text
from inventory.facts.gpu.nvidia_xml import parse_xml
from inventory.facts.gpu.rocm_smi import parse_rocm_smi
from inventory.facts.gpu.rocm_text import parse_rocm_text
from inventory.facts.gpu.topology import Matrix, distances
from inventory.facts.host import Gpus, NumaNode

FORMS = "outputs of lscpu, numactl -H, nvidia-smi (also -q, -q -x, -L, topo -m), amd-smi, rocm-smi, ibstat, lsblk -J"
"""What can be pasted of a host, for people."""

READERS = (parse_xml, parse_text, parse_csv, parse_table, parse_listing)
AMD_READERS = (lambda text: parse_amd_smi(text, ""), parse_amd_text, parse_rocm_smi, parse_rocm_text)


def parse_gpus(texts: Iterable[str], reports: tuple[Report, ...], nodes: tuple[NumaNode, ...]) -> Maybe[Gpus]:
    """GPUs of the first text that lists them, the fullest form first; else the failure that a text tells."""
    all_texts = tuple(texts)
    found = next((one for one in (*answers(all_texts), *map(seen_by_torch, reports)) if one and one.gpus), None)
    if found is not None:
        return nvidia(found, reports, nodes)
    of_amd = next(amd_answers(all_texts), None)
    if of_amd is not None:
        return amd_gpus(of_amd, nodes)
    failure = next(filter(None, map(find_failure, all_texts)), None)
    cause = f"{failure.name}: {failure.cause}" if failure else "not in what was pasted"
    return Unknown(Why.UNREADABLE if failure else Why.NOT_ASKED, cause)


def nvidia(found: NvidiaAnswer, reports: tuple[Report, ...], nodes: tuple[NumaNode, ...]) -> Gpus:
    """A matrix of another number of GPUs is of another machine, or of a part of this one: it tells no distances."""
    matrix = next((report.matrix for report in reports if report.affinities), Matrix())
    places = Places({}, matrix.affinities, nodes)
    return Gpus(
        vendor="nvidia",
        driver=found.driver,
        runtime_ceiling=found.cuda,
        devices=tuple(
            gpu_fact(index, one, places.node_of(index, one.pci_address), None) for index, one in enumerate(found.gpus)
        ),
        simulated=False,
        links=distances(matrix) if len(matrix.gpus) == len(found.gpus) else (),
    )


def amd_gpus(found: AmdAnswer, nodes: tuple[NumaNode, ...]) -> Gpus:
    with_cpus = [node.id for node in nodes if node.cpus]
    return Gpus(
        vendor="amd",
        driver=found.driver,
        runtime_ceiling=None,
        devices=tuple(amd.gpu_fact(index, one, {}, with_cpus) for index, one in enumerate(found.gpus)),
        simulated=False,
    )


def answers(texts: tuple[str, ...]) -> Iterator[NvidiaAnswer]:
    for read in READERS:
        for text in texts:
            answer = read(text)
            if not isinstance(answer, Unknown):
                yield answer


def amd_answers(texts: tuple[str, ...]) -> Iterator[AmdAnswer]:
    """Those that name every GPU: `amd-smi list` alone does not say what they are."""
    for read in AMD_READERS:
        for text in texts:
            answer = read(text)
            if not isinstance(answer, Unknown) and answer.gpus and all(gpu.name for gpu in answer.gpus):
                yield answer


def seen_by_torch(report: Report) -> NvidiaAnswer | None:
    """Torch sees no more GPUs than CUDA_VISIBLE_DEVICES lets it: believed only if the matrix has as many."""
    if not report.driver or report.gpu_count != len(report.models):
        return None
    return NvidiaAnswer(
        driver=report.driver,
        cuda=None,
        gpus=tuple(NvidiaGpu(name=model, pci_address="") for model in report.models),
    )
