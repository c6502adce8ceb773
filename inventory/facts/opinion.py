"""A second opinion on cores and CPU flags: psutil's and py-cpuinfo's, asked beside our own reading of /sys.

They run in the Python that the ranks run in, as the user that starts them. Where they disagree with what we read, a
person should look: one of the two would pin ranks to the wrong cores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.cpulist import format_list
from inventory.facts.host import HostFacts, SecondOpinion
from inventory.facts.jsontext import parse_object

# What kernels of a model are built for. Of the other flags py-cpuinfo tells some that the kernel hides, and is right.
COMPUTE = re.compile(r"(?:avx|amx|sse|fma|f16c|asimd|sve|sme|i8mm|bf16|vsx|rv64).*")


def read_flags(answers: Answers) -> Maybe[tuple[str, ...]]:
    """The CPU's features as the kernel lists them."""
    text = answers.text("opinion.flags")
    return text if isinstance(text, Unknown) else tuple(sorted(set(text.partition(":")[2].split())))


def read_opinion(answers: Answers) -> Maybe[SecondOpinion]:
    """What the last of the asked interpreters says: the environment of the ranks where there is one."""
    pages = answers.pages("opinion.python")
    if not pages:
        silence = answers.silence("opinion")
        return silence if silence.why is not Why.NOT_ASKED else Unknown(Why.NOT_ASKED, "no environment to ask in")
    return opinion(*pages[-1])


def opinion(python: str, item: Item) -> Maybe[SecondOpinion]:
    if item.status != 0:
        return item.reason
    told = parse_object(item.text)
    if told is None:
        return Unknown(Why.UNREADABLE, f"{python} printed {item.text[:40]!r}")
    allowed, flags = told.members.get("allowed"), told.members.get("flags")
    return SecondOpinion(
        python=python,
        physical_cores_machine=told.number("physical_cores"),
        allowed=tuple(one for one in allowed if isinstance(one, int)) if isinstance(allowed, list) else None,
        flags=tuple(sorted(map(str, flags))) if isinstance(flags, list) else None,
    )


def disagreements(facts: HostFacts) -> Iterator[str]:
    """One line for each number on which the two differ, with both."""
    second = facts.second_opinion
    if not is_known(second):
        return
    if is_known(facts.cpu):
        ours, theirs = facts.cpu.physical_cores_machine, second.physical_cores_machine
        if theirs is not None and theirs != ours:
            yield f"{ours} physical cores by /sys, {theirs} by psutil"
        if second.allowed is not None and tuple(sorted(second.allowed)) != facts.cpu.allowed:
            yield f"allowed CPUs {format_list(facts.cpu.allowed)} by /proc, {format_list(second.allowed)} by psutil"
    if is_known(facts.cpu_flags) and second.flags is not None:
        differ = sorted(flag for flag in {*facts.cpu_flags} ^ {*second.flags} if COMPUTE.fullmatch(flag))
        if differ:
            sources = ("the kernel" if flag in facts.cpu_flags else "py-cpuinfo" for flag in differ)
            yield "CPU flags: " + ", ".join(f"{flag} only by {who}" for flag, who in zip(differ, sources, strict=True))
