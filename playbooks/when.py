"""Where an entry counts: named predicates over facts, each with a closed vocabulary. No expressions.

All predicates of an entry must hold; of one that takes several words, one word must, but all of `has`, `plan` and
`given`. What is unknown decides nothing: unless another predicate is false anyway, the plan is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator

from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.schema import Strict
from playbooks.situation import NOT_PLANNED, Situation


def _listed(value: object) -> object:
    # A tuple: strict reading takes no list for one once this has looked at it.
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


Gpu: TypeAlias = Literal["nvidia", "amd", "none"]
Os: TypeAlias = Literal["debian", "rhel"]
Arch: TypeAlias = Literal["x86_64", "aarch64"]
Supervisor: TypeAlias = Literal["systemd", "process-group"]
Has: TypeAlias = Literal[
    "rdma", "nvswitch", "several-gpus", "docker", "open-modules", "closed-modules", "bare-metal", "hypervisor"
]
Planned: TypeAlias = Literal["rdma", "container", "several-hosts", "mnnvl", "imex", "compiles"]
Hardware: TypeAlias = Literal[
    "a100",
    "h100",
    "h200",
    "h20",
    "b200",
    "b300",
    "gb200",
    "gb300",
    "gh200",
    "l40s",
    "l4",
    "dgx_spark_gb10",
    "mi300x",
    "mi325x",
    "mi350x",
    "mi355x",
    "cpu",
]
OneOf = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class When(Strict):
    """No predicate: everywhere."""

    gpu: Annotated[tuple[Gpu, ...], BeforeValidator(_listed)] = ()
    hardware: Annotated[tuple[Hardware, ...], BeforeValidator(_listed)] = ()
    os: Annotated[tuple[Os, ...], BeforeValidator(_listed)] = ()
    release: OneOf = ()  # ubuntu, or ubuntu-24.04: ID and VERSION_ID of os-release
    arch: Annotated[tuple[Arch, ...], BeforeValidator(_listed)] = ()
    supervisor: Annotated[tuple[Supervisor, ...], BeforeValidator(_listed)] = ()
    has: Annotated[tuple[Has, ...], BeforeValidator(_listed)] = ()
    plan: Annotated[tuple[Planned, ...], BeforeValidator(_listed)] = ()
    given: OneOf = ()  # settings of the playbook that have a value; `name=value`: this one

    def holds(self, at: Situation) -> Maybe[bool]:
        """Whether the entry counts on this host. False wins over unknown, unknown over true."""
        answers = list(self._answers(at))
        if any(answer is False for answer in answers):
            return False
        unknown = [answer for answer in answers if isinstance(answer, Unknown)]
        late = [one for one in unknown if one != NOT_PLANNED]
        first: list[Unknown] = late or unknown
        return first[0] if first else True

    @property
    def asks(self) -> frozenset[str]:
        """The names of the predicates that are used."""
        return frozenset(name for name in type(self).model_fields if getattr(self, name))

    def _answers(self, at: Situation) -> Iterator[Maybe[bool]]:
        if self.given:
            yield all(is_given(word, at.settings) for word in self.given)
        if self.gpu:
            yield _among(at.gpu, self.gpu)
        if self.hardware:
            yield _among(at.hardware, self.hardware)
        if self.os:
            yield _among(at.family, self.os)
        if self.release:
            yield _release(at, self.release)
        if self.arch:
            yield _among(at.architecture, self.arch)
        if self.supervisor:
            yield _among(at.supervisor, self.supervisor)
        yield from (at.has(word) for word in self.has)
        yield from (at.planned(word) for word in self.plan)


def is_given(word: str, settings: Mapping[str, str]) -> bool:
    """Whether a setting has a value, or with `name=value` this one."""
    name, equals, value = word.partition("=")
    return name in settings and (not equals or settings[name] == value)


def _among(fact: Maybe[str], words: tuple[str, ...]) -> Maybe[bool]:
    return fact in words if is_known(fact) else fact


def _release(at: Situation, words: tuple[str, ...]) -> Maybe[bool]:
    if isinstance(at.facts.system, Unknown):
        return at.facts.system
    system = at.facts.system
    if not system.id:
        return Unknown(Why.EMPTY, "os-release has no ID")
    return bool({system.id, f"{system.id}-{system.version}"} & set(words))
