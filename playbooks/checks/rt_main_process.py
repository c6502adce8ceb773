from __future__ import annotations

from collections.abc import Mapping, Sequence

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.rt_stop_timeout import is_ours
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "rt.main_process"
PRIORITY = Priority.P1
WHY = "an engine that is started beside the container's own process dies unseen, and its exit code is lost"

_SHELLS = ("sh", "bash", "dash", "zsh", "busybox", "ash")
_IDLE = ("sleep", "tail", "pause", "cat")
_REQUIRED = "the rank is the container's main process"
_REMEDY = "docker run IMAGE vllm serve ..., not docker exec into a container that sleeps"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.container is None:
        return (skip(ID, "", "the plan runs no container"),)
    commands = {f"the plan for {one.host}": one.argv for one in needs.hosts if one.argv}
    for one in needs.hosts:
        docker = facts[one.host].docker if one.host in facts else None
        if docker is not None and is_known(docker):
            ours = (c for c in docker.containers or () if c.command and is_ours(c, needs))
            commands |= {f"{c.name or 'the container'} on {one.host}": c.command for c in ours}
    if not commands:
        return (skip(ID, "", "no command of a container is known"),)
    wrong = {who: words for who, words in commands.items() if not is_rank(words)}
    if not wrong:
        return (Finding(ID, Status.PASS, "", "process 1 of every container is the rank itself"),)
    observed = "; ".join(f"process 1 of {who} is {' '.join(words)!r}" for who, words in wrong.items())
    return (Finding(ID, Status.FAIL, "", observed, _REQUIRED, _REMEDY),)


def is_rank(words: Sequence[str]) -> bool:
    """A shell counts where its one command is `exec`, which makes it the engine."""
    program = words[0].rpartition("/")[2]
    if program in _IDLE:
        return False
    if program not in _SHELLS:
        return True
    return len(words) > 2 and words[1].startswith("-") and "c" in words[1] and "exec " in words[2]
