from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from inventory.facts.base import NOT_ASKED, is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.rt_stop_timeout import is_ours
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "rt.main_process"
PRIORITY = Priority.P1
WHY = "an engine that is started beside the container's own process dies unseen, and its exit code is lost"

_SHELLS = ("sh", "bash", "dash", "zsh", "busybox", "ash")
_IDLE = ("sleep", "tail", "pause", "cat")
_BECOMES = re.compile(r"(?:^|[;&|\n])\s*exec\s")  # the shell's own: `docker exec` starts another process
_REQUIRED = "the rank is the main process of its container or unit"
_REMEDY = "docker run IMAGE vllm serve ..., not docker exec into a container that sleeps"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    findings = [found for one in needs.hosts if (found := of_host(facts.get(one.host), one, needs))]
    return tuple(findings) or (skip(ID, "", "no command of a container or unit is known"),)


def of_host(facts: HostFacts | None, host: HostRequirements, needs: Requirements) -> Finding | None:
    """Of the planned command and of the containers that run; None where neither is known."""
    commands = {"the planned rank": host.argv} if host.argv else {}
    docker = facts.docker if facts else NOT_ASKED
    if is_known(docker) and needs.container is not None:
        ours = (one for one in docker.containers or () if one.command and is_ours(one, needs))
        commands |= {one.name or "the container": one.command for one in ours}
    wrong = {who: words for who, words in commands.items() if not is_rank(words)}
    if not wrong:
        return Finding(ID, Status.PASS, host.host, "process 1 is the rank itself") if commands else None
    observed = "; ".join(f"process 1 of {who} is {' '.join(words)!r}" for who, words in wrong.items())
    return Finding(ID, Status.FAIL, host.host, observed, _REQUIRED, _REMEDY)


def is_rank(words: Sequence[str]) -> bool:
    """A shell counts where its one command is `exec`, which makes it the engine."""
    program = words[0].rpartition("/")[2]
    if program in _IDLE:
        return False
    if program not in _SHELLS:
        return True
    return len(words) > 2 and words[1].startswith("-") and "c" in words[1] and _BECOMES.search(words[2]) is not None
