from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.stored import missing_fact
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "rt.binary_only"
PRIORITY = Priority.P1
WHY = "a package that is built on the host takes an hour, fails there, or differs from that of the next host"

_REQUIRED = "packages are installed from wheels alone"
_SOURCES = ("PIP_NO_BINARY", "UV_NO_BINARY", "UV_NO_BINARY_PACKAGE")


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not any(one.purpose == "environment" and one.bytes_needed for one in needs.space):
        return skip(ID, facts.host, "the plan installs no packages here")
    if not is_known(facts.installer_settings):
        return missing_fact(ID, facts.host, facts.installer_settings, _REQUIRED, f"{ON_HOST}env | grep -E '^(PIP|UV)_'")
    forced = [f"{name}={value}" for name, value in facts.installer_settings if name in _SOURCES and value]
    if not forced:
        return Finding(ID, Status.PASS, facts.host, "nothing forces a build from source")
    observed = f"{', '.join(forced)} is set for logins"
    return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, f"{ON_HOST}unset it where logins are given it")
