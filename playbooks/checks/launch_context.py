"""What checks say of the launch context, and what they take in its place where it could not be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.host import HostFacts, LaunchContext
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST
from playbooks.requirements import HostRequirements

T = TypeVar("T")
PLACES = {
    "systemd-unit": "the unit that starts the ranks",
    "container": "the container of the ranks",
    "process-group": "the session that starts the ranks",
    "login": "the login",
}
LOOK = (
    f"{ON_HOST}sudo systemd-run --wait --pipe --collect -p User=$USER -p LimitMEMLOCK=infinity "
    "cat /proc/self/limits /proc/self/status"
)


def part_of(facts: HostFacts, read: Callable[[LaunchContext], Maybe[T]]) -> Maybe[T]:
    """One part of the context, or why it is unknown."""
    return facts.context if isinstance(facts.context, Unknown) else read(facts.context)


def place_of(facts: HostFacts) -> str:
    return PLACES["login" if isinstance(facts.context, Unknown) else facts.context.where]


def could_not_be_read(fact: Maybe[object]) -> bool:
    """Somebody looked and saw nothing: not the same as a bundle of a time when nobody looked."""
    return isinstance(fact, Unknown) and fact.why is not Why.NOT_ASKED


def tuned(host: str) -> str:
    """The command that brings a host to what playbooks/tuning.yaml says."""
    return f"invoke install --hosts {quote(host)} --playbook tuning"


def raise_limit(facts: HostFacts, name: str, *, docker: str, number: str) -> str:
    """How to raise a limit of processes where ranks start: `name` as pam_limits has it, `number` as it should be."""
    where = "login" if isinstance(facts.context, Unknown) else facts.context.where
    if where == "container":
        return f"add to docker's arguments: --ulimit {docker}"
    if where == "systemd-unit":
        unit = f"Limit{name.upper()}={'infinity' if number == 'unlimited' else number}"
        return f"{unit} in the unit is not granted: {ON_HOST}systemctl show -p DefaultLimit{name.upper()}; ulimit -H -a"
    by_hand = f"'* - {name} {number}' in /etc/security/limits.d"
    return f"{tuned(facts.host)}  # or by hand: {by_hand}; it counts for new logins"


def option(words: Sequence[str], name: str) -> tuple[str, ...]:
    """The values of an option of `docker run`: `--ulimit memlock=-1` and `--ulimit=memlock=-1`."""
    found = [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
    found += [value for word, value in pairwise(words) if word == name]
    return tuple(found)


def ulimit(words: Sequence[str], name: str) -> tuple[int, int] | None:
    """Soft and hard of `--ulimit NAME=SOFT[:HARD]`; -1: unlimited."""
    for value in option(words, "--ulimit"):
        kind, _, numbers = value.partition("=")
        soft, _, hard = numbers.partition(":")
        if kind == name and soft.removeprefix("-").isdecimal() and (hard or soft).removeprefix("-").isdecimal():
            return int(soft), int(hard or soft)
    return None


def gpu_count(facts: HostFacts, needs: HostRequirements) -> int:
    """GPUs that the plan uses here; where it tells nothing of this host, those that are there, or several."""
    if needs.gpus or needs.processes.total:
        return len(needs.gpus)
    return len(facts.gpus.devices) if is_known(facts.gpus) else 2
