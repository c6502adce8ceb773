from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ssh.posix_shell"
PRIORITY = Priority.P1
WHY = "commands that other tools send are read by the login shell; ours go to /bin/sh on its stdin"

STRANGE = frozenset({"fish", "csh", "tcsh", "nu", "xonsh", "elvish", "pwsh"})
CLOSED = frozenset({"nologin", "false", "true", "sync", "git-shell", "rbash"})
_REMEDY = f"{ON_HOST}sudo chsh -s /bin/bash $USER"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    shell = None if isinstance(facts.session, Unknown) else facts.session.shell
    if not shell:
        return skip(ID, facts.host, "the login shell is not told; /bin/sh answered")
    observed = f"the login shell is {shell}; /bin/sh answered"
    if shell.rpartition("/")[2] in STRANGE | CLOSED:
        return Finding(ID, Status.WARN, facts.host, observed, "a POSIX shell as login shell", _REMEDY)
    return Finding(ID, Status.PASS, facts.host, observed)
