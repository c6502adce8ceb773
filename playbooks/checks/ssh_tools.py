from __future__ import annotations

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ssh.tools"
PRIORITY = Priority.P2
WHY = "what only these tools tell stays unknown"

PACKAGES = {  # Debian and Red Hat
    "ip": ("iproute2", "iproute"),
    "ss": ("iproute2", "iproute"),
    "lspci": ("pciutils", "pciutils"),
    "numactl": ("numactl", "numactl"),
    "ibv_devinfo": ("ibverbs-utils", "libibverbs-utils"),
    "ethtool": ("ethtool", "ethtool"),
    "timedatectl": ("systemd", "systemd"),
}


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    if isinstance(facts.missing_tools, Unknown):
        return skip(ID, facts.host, f"the tools are {facts.missing_tools}")
    missing = [name for name in facts.missing_tools if name in PACKAGES and wanted(name, facts)]
    if not missing:
        return Finding(ID, Status.PASS, facts.host, "all tools that are asked are there")
    debian, redhat = (" ".join(dict.fromkeys(PACKAGES[name][kind] for name in missing)) for kind in (0, 1))
    remedy = f"{ON_HOST}sudo apt-get install {debian} || sudo dnf install {redhat}"
    remedy = by_playbook(facts.host, "tools", remedy)
    return Finding(ID, Status.WARN, facts.host, f"not there: {', '.join(missing)}", "the tools that are asked", remedy)


def wanted(name: str, facts: HostFacts) -> bool:
    """A tool for what the host does not have is no loss."""
    if name == "ibv_devinfo":
        return not (is_known(facts.rdma) and not facts.rdma)
    if name == "timedatectl":
        return is_known(facts.software) and facts.software.systemd is not None
    return True
