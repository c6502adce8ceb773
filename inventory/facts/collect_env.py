"""Reports of `vllm collect-env` and `python -m sglang.check_env`: what people attach to a bug.

A report is several tools' answers one after another; each is read by its own reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from inventory.facts.gpu.rocm_text import parse_gpu_lines
from inventory.facts.gpu.topology import Affinity, Matrix, parse_matrix
from inventory.facts.lscpu import Lscpu, parse_lscpu

MODEL = re.compile(r"^(?:GPU models and configuration *: *)?GPU (\d[\d, ]*): *(.+?) *$", re.MULTILINE)
CPU_HEADINGS = ("\nCPU:\n", "CPU Info\n")
NVCC = re.compile(r"\bV(\d+(?:\.\d+)+)")
NOTHING = {"", "N/A", "None", "Could not collect", "No CUDA"}


@dataclass(frozen=True, slots=True)
class Report:
    """`models`: GPUs that torch sees; `matrix`: all of the machine. `cuda_build`: what torch was built for."""

    models: tuple[str, ...]
    matrix: Matrix
    rocm_nodes: dict[int, dict[str, str]]
    cpu: Lscpu | None
    driver: str | None
    cuda_build: str | None
    cuda_toolkit: str | None
    rocm_build: str | None
    hip: str | None
    os: str | None
    hypervisor: str | None

    @property
    def gpu_count(self) -> int | None:
        """GPUs of the machine: by the topology, else those that torch sees; torch's ROCm build names the first only."""
        visible = 0 if self.rocm_build else len(self.models)
        return len(self.matrix.gpus) or len(self.rocm_nodes) or visible or None

    @property
    def affinities(self) -> dict[int, Affinity]:
        return self.matrix.affinities


def parse_report(text: str) -> Report:
    """Whatever of a report is there."""
    head = text.partition("GPU Topology:")[0]
    value = Values(head)
    return Report(
        models=visible_models(head),
        matrix=parse_matrix(text),
        rocm_nodes={gpu: keys for gpu, keys in parse_gpu_lines(text).items() if any("Numa" in key for key in keys)},
        cpu=parse_lscpu(cpu_part(text)) if "On-line CPU(s) list" in text else None,
        driver=value.of("Nvidia driver version", "CUDA Driver Version"),
        cuda_build=value.of("CUDA used to build PyTorch"),
        cuda_toolkit=toolkit(value),
        rocm_build=value.of("ROCM used to build PyTorch"),
        hip=value.of("HIP runtime version"),
        os=value.of("OS"),
        hypervisor=Values(text).of("Hypervisor vendor"),
    )


@dataclass(frozen=True, slots=True)
class Values:
    """Lines `label: value`, the first of each label; a value may be broken over lines that are indented."""

    text: str
    lines: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        found = re.findall(r"^[ \t]*([A-Za-z][^:\n]{0,60}?)[ \t]*:[ \t]*(.*?)[ \t]*$", self.text, re.MULTILINE)
        object.__setattr__(self, "lines", dict(reversed(found)))

    def of(self, *labels: str) -> str | None:
        values = (self.lines.get(label, "") for label in labels)
        return next((value for value in values if value not in NOTHING), None)


def toolkit(value: Values) -> str | None:
    """The version of nvcc, the toolkit that is installed."""
    nvcc = NVCC.search(value.of("NVCC") or "")
    return nvcc[1] if nvcc else value.of("CUDA runtime version")


def visible_models(text: str) -> tuple[str, ...]:
    """`GPU 0: NVIDIA H200`, or `GPU 0,1,2: NVIDIA H200` for several of one model; ROCm's report names one only."""
    models: dict[int, str] = {}
    for indices, model in MODEL.findall(text):
        for index in re.findall(r"\d+", indices):
            models[int(index)] = re.sub(r"\s*\(UUID: .*\)$", "", model)
    if models:
        return tuple(model for _, model in sorted(models.items()))
    return amd_models(text)


def amd_models(text: str) -> tuple[str, ...]:
    """Torch's ROCm build prints `name (gfx942)` of the first GPU, without an index."""
    match = re.search(r"^GPU models and configuration[ \t]*:[ \t]*(.+?)[ \t]*$", text, re.MULTILINE)
    if match is None or match[1] in NOTHING:
        return ()
    return (re.sub(r"\s*\(gfx\w+[^)]*\)$|NoGCNArchNameOnOldPyTorch$", "", match[1]),)


def cpu_part(text: str) -> str:
    """From its heading to the versions of libraries."""
    starts = [at + len(heading) for heading in CPU_HEADINGS if (at := text.find(heading)) >= 0]
    return text[min(starts, default=0) :].partition("Versions of relevant libraries")[0]
