"""GPUs in what a person pasted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.collect_env import Report
from inventory.facts.gpu.nvidia import Places, gpu_fact
from inventory.facts.gpu.nvidia_csv import parse_csv, parse_listing
from inventory.facts.gpu.nvidia_failures import find_failure
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer, NvidiaGpu
from inventory.facts.gpu.nvidia_table import parse_table
from inventory.facts.gpu.nvidia_text import parse_text
from inventory.facts.gpu.nvidia_xml import parse_xml
from inventory.facts.gpu.topology import Affinity
from inventory.facts.host import Gpus, NumaNode

READERS = (parse_xml, parse_text, parse_csv, parse_table, parse_listing)


def parse_gpus(texts: Iterable[str], reports: tuple[Report, ...], nodes: tuple[NumaNode, ...]) -> Maybe[Gpus]:
    """NVIDIA GPUs of the first text that lists them, the fullest form first; else the failure that a text tells."""
    all_texts = tuple(texts)
    found = next((one for one in (*answers(all_texts), *map(seen_by_torch, reports)) if one and one.gpus), None)
    if found is None:
        failure = next(filter(None, map(find_failure, all_texts)), None)
        cause = f"{failure.name}: {failure.cause}" if failure else "not in what was pasted"
        return Unknown(Why.UNREADABLE if failure else Why.NOT_ASKED, cause)
    affinities: dict[int, Affinity] = next((report.affinities for report in reports if report.affinities), {})
    places = Places({}, affinities, nodes)
    return Gpus(
        vendor="nvidia",
        driver=found.driver,
        runtime_ceiling=found.cuda,
        devices=tuple(
            gpu_fact(index, one, places.node_of(index, one.pci_address), None) for index, one in enumerate(found.gpus)
        ),
        simulated=False,
    )


def answers(texts: tuple[str, ...]) -> Iterator[NvidiaAnswer]:
    for read in READERS:
        for text in texts:
            answer = read(text)
            if not isinstance(answer, Unknown):
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
