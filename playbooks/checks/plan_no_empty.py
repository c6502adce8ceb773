from __future__ import annotations

import re
from collections.abc import Iterator

from inventory.facts.host import HostFacts
from playbooks.argv import VALUED, is_option, long_name
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "plan.no_empty"
PRIORITY = Priority.P0
WHY = "an option takes the next one for its value, and the rank waits for an address that nobody has"

PLACEHOLDER = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\{\{.*?\}\}|<[A-Z][A-Z0-9_]*>|%\([a-z_]+\)s")


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.argv and not needs.env:
        return skip(ID, facts.host, "the plan renders no command here")
    wrong = [*of_command(needs.argv), *of_environment(needs.env)]
    required = "every option and variable of the rendered command has its value"
    if wrong:
        remedy = "invoke plan --model MODEL --hosts HOSTS  # name what resolved to nothing: an address, an interface"
        return Finding(ID, Status.FAIL, facts.host, "; ".join(wrong), required, remedy)
    return Finding(ID, Status.PASS, facts.host, f"{len(needs.argv)} words and {len(needs.env)} variables have values")


def of_command(argv: tuple[str, ...]) -> Iterator[str]:
    for at, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if word == "":
            yield "a word of the command is empty" + (f", after {argv[at - 1]}" if at else "")
        elif is_option(word) and (value == "" if equals else bare(argv, at)):
            yield f"{name} has no value"
        elif found := PLACEHOLDER.search(word):
            before = f" of {argv[at - 1]}" if at and is_option(argv[at - 1]) else ""
            yield f"{found[0]}{before} was not resolved"


def bare(argv: tuple[str, ...], at: int) -> bool:
    """Whether the option at `at` needs a value and none follows."""
    return long_name(argv[at]) in VALUED and (at + 1 == len(argv) or is_option(argv[at + 1]))


def of_environment(env: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, value in env:
        if value == "":
            yield f"{name} is empty"
        elif found := PLACEHOLDER.search(value):
            yield f"{found[0]} of {name} was not resolved"
