"""Gather the facts of all hosts at once, each asked for its routes to the others."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.facts.gather import Asked, ask
from launch.placing.addresses import target_of
from playbooks.layout import Layout

CACHES = (
    *("VLLM_CACHE_ROOT", "DG_JIT_CACHE_DIR", "TILELANG_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"),
    *("TORCH_EXTENSIONS_DIR", "FLASHINFER_WORKSPACE_BASE", "AITER_JIT_DIR", "XDG_CACHE_HOME", "TMPDIR"),
)
HUB_CACHES = ("HF_HOME", "HF_HUB_CACHE")

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.facts.raw import RawAnswer
    from inventory.fleet import Fleet
    from inventory.schema import Host
    from inventory.transport.base import Transport


@dataclass(frozen=True, slots=True)
class Answered:
    """What the hosts that answered said, word for word, and the errors of those that did not."""

    hosts: Mapping[str, Host]
    raw: Mapping[str, RawAnswer]
    errors: Mapping[str, BringupError]
    pasted: Mapping[str, HostFacts] = field(default_factory=dict)  # of hosts that only sent texts

    def facts(self) -> dict[str, HostFacts]:
        return {**{host: raw.facts() for host, raw in self.raw.items()}, **self.pasted}


def parts(error: BringupError) -> dict[str, str]:
    """What an error says, as data."""
    return {
        "message": error.message,
        "id": error.id,
        "observed": error.observed,
        "required": error.required,
        "next_command": error.next_command,
    }


def gather_all(fleet: Fleet) -> tuple[dict[str, HostFacts], dict[str, BringupError]]:
    """Return the facts of the hosts that answered, and the errors of those that did not."""
    answered = ask_all(fleet)
    return answered.facts(), dict(answered.errors)


def ask_all(fleet: Fleet, *, opinion: bool = False) -> Answered:
    """Ask every host everything, all at once; `opinion`: psutil and py-cpuinfo too."""

    def one(transport: Transport) -> RawAnswer:
        return ask(transport, asked_of(fleet.hosts, transport.host, opinion=opinion))

    outcomes = fleet.each(one)
    return Answered(
        hosts=fleet.hosts,
        raw={host: outcome for host, outcome in outcomes.items() if not isinstance(outcome, BringupError)},
        errors={host: outcome for host, outcome in outcomes.items() if isinstance(outcome, BringupError)},
    )


def asked_of(
    hosts: Mapping[str, Host], name: str, *, opinion: bool = False, only: frozenset[str] = frozenset()
) -> Asked:
    """What to ask a host; `only`: these sections of the facts, none: all."""
    others = (target_of(host) for other, host in hosts.items() if other != name)
    return Asked(
        state_dir=hosts[name].state_dir,
        paths=tuple(stored_at(hosts[name])),
        addresses=tuple(dict.fromkeys(others)),
        opinion=opinion,
        only=only,
        # This machine has a psutil that is surely there: our own.
        pythons=(sys.executable,) if opinion and hosts[name].transport == "local" else (),
    )


def stored_at(host: Host) -> Iterator[str]:
    """Where much is written and read: weights and caches may be mounts of their own, or elsewhere by a variable."""
    layout = Layout(host.state_dir)
    yield f"{host.state_dir}/weights"
    yield layout.caches
    for name, value in host.env:
        if name in (*CACHES, *HUB_CACHES) and PurePosixPath(value).is_absolute() and value.isprintable():
            yield value
