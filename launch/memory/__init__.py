"""How a model fills the memory of its GPUs: weights, activations, graphs and cache, to vLLM's own log line. Pure.

`predict` is the entry: an architecture (`load` by the name in the recipe, or `from_config` of a model on disk), its
weights, a layout and settings to a `MemoryPlan`.
"""

from __future__ import annotations

from launch.memory.architecture import Architecture, Known, load
from launch.memory.plan import MemoryPlan, bytes_per_token, predict
from launch.memory.settings import Parallel, Settings, of_argv
from launch.memory.weights import Weights, weights_of

__all__ = [
    "Architecture",
    "Known",
    "MemoryPlan",
    "Parallel",
    "Settings",
    "Weights",
    "bytes_per_token",
    "load",
    "of_argv",
    "predict",
    "weights_of",
]
