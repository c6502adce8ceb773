"""One script tells all facts of a host, in one round trip.

Every section runs beside the others in a process of its own with its own deadline, so a tool that hangs costs only what
it would have told. The script needs a POSIX shell and the usual small programs, no Python; it leaves nothing behind.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from inventory.facts import gpu
from inventory.facts.answers import unframe
from inventory.quoting import quote

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.facts.raw import RawAnswer
    from inventory.transport.base import Transport

END_OF_SECTIONS = "BRINGUP_END_OF_SECTIONS"

# Each section and its deadline as a share of `Asked.seconds`: what only reads files of the kernel answers at once.
SECTIONS: tuple[tuple[str, float], ...] = (
    *((name, 1.0) for name in gpu.SECTIONS),
    ("system", 0.5),
    ("processor", 0.5),
    ("pci", 0.5),
    ("network", 0.5),
    ("rdma", 0.5),
    ("listeners", 0.5),
    ("disks", 0.5),
    ("software", 0.5),
    ("containers", 0.5),
    ("sudo", 0.5),
    ("state", 0.5),
    ("deployments", 0.5),
    ("context", 0.5),
    ("host", 0.5),
    ("sessions", 0.5),
    ("sshd", 0.5),
    ("upkeep", 0.5),
    ("toolchain", 0.5),
    ("names", 0.5),
    ("weights", 1.0),
    ("caches", 0.5),
    ("docker", 0.5),
)
OPINION = ("opinion", 0.5)
PIECES = (
    "sh/items",
    "sh/system",
    "sh/processor",
    "sh/pci",
    *gpu.PIECES,
    "sh/network",
    "sh/rdma",
    "sh/disks",
    "sh/software",
    "sh/process",
    "sh/deployment_processes",
    "sh/state",
    "sh/context",
    "sh/host",
    "sh/names",
    "sh/weights",
    "sh/caches",
    "sh/docker",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What to look at besides what every host is asked.

    `paths` are absolute; `state_dir`, /tmp and /dev/shm are always among them. `addresses` (or names) are those of the
    other hosts: the routes to them. `opinion`: ask psutil and py-cpuinfo too (see opinion.py), in the environment of
    the ranks, else in one of `pythons`. `seconds` is the longest that any section may take. Raises `ValueError` for a
    path or an address that cannot be one.
    """

    state_dir: str = "/var/lib/bringup"
    paths: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    seconds: int = 20
    opinion: bool = False
    pythons: tuple[str, ...] = ()
    only: frozenset[str] = frozenset()  # sections; none: all

    def __post_init__(self) -> None:
        for path in (self.state_dir, *self.paths, *self.pythons):
            if not PurePosixPath(path).is_absolute() or not path.isprintable():
                raise ValueError(f"not an absolute path: {path!r}")
        for address in self.addresses:
            if not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z._:%-]*|::[0-9A-Fa-f.:]*", address):
                raise ValueError(f"not an address or a host name: {address!r}")
        if self.seconds < 1:
            raise ValueError(f"a deadline of {self.seconds} s")

    @property
    def sections(self) -> tuple[tuple[str, float], ...]:
        asked = (*SECTIONS, OPINION) if self.opinion else SECTIONS
        return tuple(one for one in asked if not self.only or one[0] in self.only)

    @property
    def all_paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.state_dir, *self.paths, "/tmp", "/dev/shm")))  # noqa: S108

    @property
    def whole_seconds(self) -> int:
        """Until the script ends even if a process can not be killed."""
        return self.seconds + 4


@cache
def piece(name: str) -> str:
    """The shell functions of inventory/facts/<name>.sh, for other scripts too."""
    text = resources.files("inventory.facts").joinpath(f"{name}.sh").read_text(encoding="utf-8")
    return text.removeprefix("# shellcheck shell=sh\n")


def program(name: str) -> str:
    """The Python program inventory/facts/sh/<name>.py, for a host."""
    return resources.files("inventory.facts").joinpath(f"sh/{name}.py").read_text(encoding="utf-8")


def script(asked: Asked) -> str:
    """The script that gathers everything: POSIX sh, the same for every host that is asked the same."""
    named: dict[int, list[str]] = {}
    for name, share in asked.sections:
        named.setdefault(deadline(asked, share), []).append(name)
    starts = "".join(f"sections {seconds} {' '.join(names)}\n" for seconds, names in named.items())
    return "\n".join(
        (
            f"whole_seconds={asked.whole_seconds}",
            piece("sh/begin"),
            f"cat >.sections <<'{END_OF_SECTIONS}'\n{sections(asked)}{END_OF_SECTIONS}",
            starts,
            piece("sh/end"),
        )
    )


def deadline(asked: Asked, share: float) -> int:
    return max(1, round(asked.seconds * share))


def sections(asked: Asked) -> str:
    """The functions of all sections, and the call of those that the shell was started for: $1 is their deadline."""
    return "\n".join(
        (
            f"state_dir={quote(asked.state_dir)}",
            calls("asked_paths", asked.all_paths),
            calls("asked_addresses", asked.addresses),
            f"weights_program={quote(program('weights'))}",
            *(piece(name) for name in PIECES),
            *(opinion(asked) if asked.opinion else ()),
            'shift\nall_sections "$@"\n',
        )
    )


def opinion(asked: Asked) -> tuple[str, ...]:
    return f"opinion_program={quote(program('opinion'))}", calls("asked_pythons", asked.pythons), piece("sh/opinion")


def calls(name: str, words: tuple[str, ...]) -> str:
    """A function that calls the command it is given once with each of `words`."""
    body = "".join(f'    "$1" {quote(word)}\n' for word in words) or "    :\n"
    return f"{name}() {{\n{body}}}\n"


def gather(transport: Transport, asked: Asked, *, sudo: bool = False) -> HostFacts:
    """The facts of `ask`."""
    return ask(transport, asked, sudo=sudo).facts()


def ask(transport: Transport, asked: Asked, *, sudo: bool = False) -> RawAnswer:
    """Ask the host everything; raises `HostUnreachable` if it does not answer."""
    sent_at = time.time()
    done = transport.run(script(asked), timeout=asked.whole_seconds + 10, sudo=sudo)
    from inventory.facts.control import with_control
    from inventory.facts.raw import RawAnswer  # all readers: the host should not wait for their import

    return RawAnswer(
        host=transport.host,
        answers=with_control(unframe(done.stdout), transport),
        noise=done.noise,
        seconds=done.seconds,
        sent_at=sent_at,
        received_at=time.time(),
    )
