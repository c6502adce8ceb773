from __future__ import annotations

from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ssh.stdout_clean"
PRIORITY = Priority.P0
WHY = "login scripts that print break scp, sftp and rsync; our own answers are read between markers"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    if not facts.noise.strip():
        return Finding(ID, Status.PASS, facts.host, "nothing printed around the answer")
    return Finding(
        ID,
        Status.WARN,
        facts.host,
        f"the login prints {facts.noise[:80]!r}",
        "a login without a terminal prints nothing",
        f"{ON_HOST}grep -nE 'echo|printf|cat ' ~/.bashrc ~/.profile /etc/profile.d/*.sh",
    )
