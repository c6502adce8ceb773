"""The size of the KV cache that an identical start measured: read from its log, kept on the host, used there alone.

vLLM profiles the memory of every GPU at each start, and prints the `--kv-cache-memory` with which the next one need not
(v1/worker/gpu_worker.py). The value fits only what it was measured on: the same command, environment and build, the
same GPU, and no less memory free than then. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from inventory.quoting import quote
from launch.choosing.reasons import Reason
from launch.console.sizes import size
from launch.request import refused
from playbooks.plan import digest

if TYPE_CHECKING:
    from inventory.facts.host import Gpu, HostFacts
    from launch.building.command import HostCommand

OPTION = "--kv-cache-memory-bytes"
FOLDER = ".kv-memory"
MEASURED = "measured"
MOST = 64  # workers of a host
GIB = 1 << 30
ROUNDED = GIB // 100  # the log tells free memory in hundredths of a GiB
_LINE = re.compile(
    r"Free memory on device \((?P<free>\d+(?:\.\d+)?)/(?P<total>\d+(?:\.\d+)?) GiB\) on startup\."
    r".*?`--kv-cache-memory=(?P<bytes>\d{1,19})`"
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the workers of one host found: the least of their values, and the least memory that was free before."""

    key: str
    gpu: str  # name, as the vendor's tool prints it
    bytes: int
    free_bytes: int
    workers: int

    def to_line(self) -> str:
        told = {"format_version": 1, "key": self.key, "gpu": self.gpu, "bytes": self.bytes}
        return json.dumps({**told, "free_bytes": self.free_bytes, "workers": self.workers})


def key_of(command: HostCommand) -> str:
    """What makes a start identical: its words and environment without the value itself, and what it was built with."""
    made = command.stamp.digest if command.stamp else ""
    return digest([without(command.argv), command.env, made])


def without(argv: Sequence[str]) -> list[str]:
    """The words without the size of the cache."""
    words = iter(argv)
    kept = []
    for word in words:
        if word == OPTION:
            next(words, None)
        elif not word.startswith(f"{OPTION}="):
            kept.append(word)
    return kept


def measured(lines: Iterable[str], key: str, gpu: str) -> Measured | None:
    """Out of the log lines of one host's workers; None where they print no value, as with one that was given."""
    found = [match for line in lines if (match := _LINE.search(line))][:MOST]
    values = [int(match["bytes"]) for match in found]
    if not found or min(values) <= 0:
        return None
    free = min(int(float(match["free"]) * GIB) for match in found)
    return Measured(key, gpu, min(values), free, len(found))


def is_line(text: str) -> bool:
    return "--kv-cache-memory=" in text and _LINE.search(text) is not None


def gpu_names(facts: HostFacts) -> str:
    """The GPUs of a host as one name; empty where there is none: the value is of a GPU's memory."""
    devices = facts.gpus.devices if is_known(facts.gpus) else ()
    return " + ".join(sorted({one.name for one in devices}))


def keep_script(one: Measured, *, state_dir: str) -> str:
    """Keep it beside the caches: a file for each key, by rename."""
    folder = f"{state_dir}/caches/{FOLDER}"
    path = quote(f"{folder}/{one.key}.json")
    written = f"printf '%s\\n' {quote(one.to_line())} >{path}.new && mv -f -- {path}.new {path}"
    return f"mkdir -p -- {quote(folder)} && {written}\n"


def offered(
    commands: Sequence[HostCommand], facts: Mapping[str, HostFacts], name: str, *, wanted: bool
) -> tuple[tuple[HostCommand, ...], tuple[Reason, ...]]:
    """The commands, with the measured value where it is `wanted` and every host has one of an identical start.

    `name`: of the deployment, whose own ranks may hold the memory now. On all hosts or none: a gang profiles together.
    """
    if any(OPTION in command.argv for command in commands):
        return tuple(commands), ()
    known = {command.host: _known(command, facts[command.host]) for command in commands}
    values = {host: one for host, one in known.items() if one}
    if not values:
        return tuple(commands), (_nothing(),) if wanted else ()
    hosts = [(command.host, known[command.host], facts[command.host]) for command in commands]
    faults = [fault for host, one, seen in hosts if (fault := _fault(host, one, seen, name))]
    numbers = tuple((host, size(one.bytes)) for host, one in values.items())
    if faults or not wanted:
        rule = faults[0] if faults else "an identical start printed a value: --kv-memory measured takes it"
        return tuple(commands), (_reason("measured anew", rule, numbers, warns=bool(faults) and wanted),)
    least = min(one.bytes for one in values.values())
    told = _reason(f"{least} bytes of each GPU", "an identical start printed it: no memory is profiled", numbers)
    return tuple(replace(one, argv=(*one.argv, OPTION, str(least))) for one in commands), (told,)


def _reason(chosen: str, rule: str, numbers: tuple[tuple[str, str], ...] = (), *, warns: bool = False) -> Reason:
    return Reason("KV cache memory", chosen, rule, numbers, "what hosts keep of earlier starts", warns)


def _known(command: HostCommand, facts: HostFacts) -> Measured | None:
    caches = facts.caches
    if not is_known(caches):
        return None
    key = key_of(command)
    return next((Measured(*one) for one in caches.kv_memory if one[0] == key), None)


def _fault(host: str, known: Measured | None, facts: HostFacts, name: str) -> str:
    """Why the value does not fit this host now; empty where it does."""
    if known is None:
        return f"no identical start is known on {host}"
    if known.gpu != gpu_names(facts):
        return f"{host} has {gpu_names(facts) or 'no GPU'} now, not {known.gpu}"
    if _runs(facts, name):
        return ""  # its own ranks hold the memory, and give it back before the start
    devices = facts.gpus.devices if is_known(facts.gpus) else ()
    short = [one for one in devices if one.free_bytes is None or one.free_bytes < known.free_bytes - ROUNDED]
    if not short:
        return ""
    return f"GPU {short[0].index} of {host} has {_free(short[0])} free, and had {size(known.free_bytes)} then"


def _free(gpu: Gpu) -> str:
    return "an unknown amount" if gpu.free_bytes is None else size(gpu.free_bytes)


def _runs(facts: HostFacts, name: str) -> bool:
    return is_known(facts.deployments) and any(one.name == name and one.pids for one in facts.deployments)


def _nothing() -> Reason:
    rule = "no identical start is known on these hosts: the next one measures, and is remembered"
    return _reason("measured anew", rule, warns=True)


def is_measured(typed: str) -> bool:
    """The value of --kv-memory. Raises `BadInput` for anything but `measured` or nothing."""
    if typed not in {"", "no", MEASURED}:
        raise refused("kv-memory", typed, "measured, or no")
    return typed == MEASURED
