"""Drafted tokens against CUDA graphs and many requests at once. Pure.

A decoding step of S sequences with K drafted tokens each is S x (K + 1) tokens. vLLM 0.33.0 captures graphs up to
min(2 x S x (K + 1), 512 or 1024 on data-centre Blackwell) and runs larger steps without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.choosing.hardware import CPU
from launch.choosing.reasons import Reason
from launch.vllm_args.parse import full_flag, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.resolve.gates import Place
    from launch.vllm_args.parse import Parsed

SOURCE = "vLLM 0.33.0, vllm/config/vllm.py; frontier deployment handbook 4.2 and 4.6"
CEILING, CEILING_BLACKWELL = 512, 1024
GRID = 16
"""Large graphs are captured at multiples of it."""
GIB = 1 << 30
LARGE_GPU_GIB = 70
MANY, FEW = 1024, 256
"""Sequences that vLLM's server takes by default: on GPUs of 70 GiB and more (without A100 and GB10), and on others."""
SMALL = ("dgx_spark_gb10",)
"""Blackwell, and much memory, but not the chip of a data centre."""
EXPLICIT = ("max_cudagraph_capture_size", "cudagraph_capture_sizes")


@dataclass(frozen=True, slots=True)
class Step:
    """The largest decoding step. `sequences` by `source`; `graphs`: what vLLM would capture by itself."""

    sequences: int
    drafted: int
    ceiling: int
    source: str

    @property
    def tokens(self) -> int:
        return self.sequences * (self.drafted + 1)

    @property
    def graphs(self) -> int:
        return min(2 * self.tokens, self.ceiling)


def speculation_words(said: Parsed, place: Place, typed: Mapping[str, str]) -> tuple[list[str], list[Reason]]:
    """What the command lacks for its drafted tokens, and why.

    A size is written only where the number of sequences is said too: by its own default of a thousand, vLLM would
    capture hundreds of graphs that nobody asked for.
    """
    drafted = _drafted(said)
    if not drafted or place.hardware == CPU or said.get("enforce_eager"):
        return [], []
    step = _step(said, place, drafted)
    explicit = _explicit(said)
    numbers = (
        ("sequences S", f"{step.sequences} ({step.source})"),
        ("drafted K", str(step.drafted)),
        ("S x (K + 1)", str(step.tokens)),
        ("graphs by vLLM's default", str(step.graphs)),
    )
    is_said = "max_num_seqs" in said.values
    if explicit is not None and (explicit >= step.tokens or any(dest in typed for dest in EXPLICIT)):
        return [], [_as_said(explicit, step, numbers, typed)]
    if step.tokens <= step.graphs and explicit is None:
        return [], [Reason("CUDA graphs", "as vLLM captures them", "they cover S x (K + 1) tokens", numbers, SOURCE)]
    if not is_said:
        return [], [_crowded(step, numbers)]
    size = -(-step.tokens // GRID) * GRID
    flag = full_flag(load(said.version)["options"][EXPLICIT[0]])
    rule = "S x (K + 1) tokens, or a full decoding step would run without a graph"
    return [flag, str(size)], [Reason("CUDA graphs", f"{flag} {size}", rule, numbers, SOURCE), _crowded(step, numbers)]


def _as_said(explicit: int, step: Step, numbers: tuple[tuple[str, str], ...], typed: Mapping[str, str]) -> Reason:
    source = next((typed[dest] for dest in EXPLICIT if dest in typed), "recipe")
    if explicit >= step.tokens:
        return Reason("CUDA graphs", str(explicit), "as said, and it covers S x (K + 1) tokens", numbers, source)
    rule = f"as said; steps of more than {explicit // (step.drafted + 1)} sequences run without a graph"
    return Reason("CUDA graphs", str(explicit), rule, numbers, source, warns=True)


def _crowded(step: Step, numbers: tuple[tuple[str, str], ...]) -> Reason:
    most = step.graphs // (step.drafted + 1)
    rule = (
        f"with more than {most} requests on a rank a step outgrows vLLM's graphs, and drafted tokens take cache "
        "and time from others: for many requests --no-feature spec_decoding, for few --set max-num-seqs=N"
    )
    return Reason("drafted tokens", f"{step.drafted} for each request", rule, numbers, SOURCE, warns=True)


def _drafted(said: Parsed) -> int:
    config = said.values.get("speculative_config")
    number = config.get("num_speculative_tokens") if isinstance(config, dict) else None
    return number if isinstance(number, int) else 0


def _explicit(said: Parsed) -> int | None:
    """The largest graph that the command names."""
    compilation = said.values.get("compilation_config")
    inside = compilation if isinstance(compilation, dict) else {}
    size = said.values.get(EXPLICIT[0]) or inside.get(EXPLICIT[0])
    sizes = said.values.get(EXPLICIT[1]) or inside.get(EXPLICIT[1])
    found = [one for one in (size, *(sizes if isinstance(sizes, list) else ())) if isinstance(one, int)]
    return max(found, default=None)


def _step(said: Parsed, place: Place, drafted: int) -> Step:
    large_chip = place.hardware not in SMALL
    ceiling = CEILING_BLACKWELL if place.profile.kind == "blackwell" and large_chip else CEILING
    sequences = said.values.get("max_num_seqs")
    if isinstance(sequences, int):
        return Step(sequences, drafted, ceiling, "--max-num-seqs")
    bytes_each = (place.profile.vram_gb or 0) * 1e9 / max(1, place.profile.gpus)
    is_large = large_chip and place.hardware != "a100" and bytes_each >= LARGE_GPU_GIB * GIB
    return Step(MANY if is_large else FEW, drafted, ceiling, f"vLLM's default on {place.hardware}")
