"""What each verb of `tasks.py` does: check the flags, call one function, show, return the exit code.

A module for each kind of verb, imported when one of its verbs is typed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import MappingProxyType

TOKIOS = ("tokios_connect", "tokios_disconnect")
MODULES = MappingProxyType(
    {
        "deploying": ("deploy",),
        "installing": ("install", "jobs"),
        "prefetching": ("prefetch",),
        "checking": ("check",),
        "planning": ("plan",),
        "memory": ("memory",),
        "probing": ("probe",),
        "diagnosing": ("diagnose",),
        "running": ("status", "stop", "restart", "rollback", "unlock"),
        "reading": ("logs", "history"),
        "serving": ("metrics", "metrics_export", "connect", "lora_list", "lora_load", "lora_unload", *TOKIOS),
        "benchmarking": ("bench", "bench_list"),
        "weights": ("weights_list", "weights_verify", "weights_gc"),
        "preloading": ("preload",),
        "hosts": ("hosts_list", "hosts_check", "hosts_trust"),
        "recipes": ("recipes_list", "recipes_show", "recipes_validate"),
        "lab": (
            *("lab_up", "lab_down", "lab_list", "lab_shell", "lab_cut", "lab_heal"),
            *("lab_freeze", "lab_thaw", "lab_power_off", "lab_power_on", "demo"),
        ),
    }
)


def of(name: str) -> Callable[..., int]:
    """The function of the verb `name`, `lab_up` for `lab.up`. Raises `KeyError` for a name that no module has."""
    module = next((module for module, names in MODULES.items() if name in names), None)
    if module is None:
        raise KeyError(name)
    function: Callable[..., int] = getattr(import_module(f"{__name__}.{module}"), name)
    return function
