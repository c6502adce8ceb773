"""What a host says of steps and of itself, in one round trip: states first, then the framed facts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.facts import gpu
from inventory.transport.exchange import in_time
from playbooks.plan import Step
from playbooks.probes import PROBE_DEADLINE_S, probe_script, read_states
from playbooks.values import named

if TYPE_CHECKING:
    from inventory.facts.gather import Asked
    from inventory.facts.host import HostFacts
    from inventory.transport.base import Transport
    from playbooks.entry import Entry

ALWAYS = frozenset({"system", "sudo"})
_DEVICES = frozenset({*gpu.SECTIONS, "pci", "rdma", "software", "state"})
SECTIONS_OF = {
    "gpu": _DEVICES,
    "hardware": _DEVICES,
    "has": _DEVICES | {"processor"},
    "supervisor": frozenset({"software", "state"}),
    "driver_version": _DEVICES,
    "reserved_ports": frozenset({"network"}),
    "next_kernel": frozenset({"driver"}),
    "rpm_next_kernel": frozenset({"driver"}),
    "amd_gfx": _DEVICES,
}
"""Sections of the facts that predicates and values are read from, beside those that are always asked."""


@dataclass(frozen=True, slots=True)
class Look:
    """The states of the steps that a host was asked for, and its facts; None: nothing of them was needed."""

    states: dict[str, str]
    facts: HostFacts | None = None


def sections_for(entries: Iterable[Entry]) -> frozenset[str]:
    """What must be asked for `entries` to be decided."""
    words = {word for entry in entries for word in (*entry.when.asks, *named(entry))}
    return ALWAYS.union(*(SECTIONS_OF[word] for word in words if word in SECTIONS_OF))


def look(transport: Transport, asked: Asked, steps: Sequence[Step]) -> Look:
    """Ask for the facts and the states of `steps`; raises `HostUnreachable` if the host does not answer."""
    from inventory.facts.gather import script

    sent_at = time.time()
    # A shell of their own: neither must see what the other sets.
    text = f"(\n{probe_script(steps)}\n:\n)\n{script(asked)}"
    timeout = PROBE_DEADLINE_S + asked.whole_seconds + 10
    done = in_time(transport.run(text, timeout=timeout), transport.host)
    from inventory.facts.answers import HEADER, unframe
    from inventory.facts.raw import RawAnswer  # all readers: the host should not wait for their import

    header = HEADER.search(done.stdout)
    first = done.stdout[: header.start()] if header else done.stdout
    raw = RawAnswer(
        host=transport.host,
        answers=unframe(done.stdout),
        noise=done.noise,
        seconds=done.seconds,
        sent_at=sent_at,
        received_at=time.time(),
    )
    return Look(read_states(steps, first.decode(errors="replace")), raw.facts())


def read(transport: Transport, steps: Sequence[Step]) -> dict[str, str]:
    """The states of `steps` alone."""
    done = in_time(transport.run(probe_script(steps), timeout=PROBE_DEADLINE_S), transport.host)
    return read_states(steps, done.text)
