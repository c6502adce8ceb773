from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.mounted import values
from playbooks.checks.stored import missing_fact
from playbooks.finding import Finding, Status
from playbooks.requirements import Container, Requirements

ID = "rt.nvml_cgroup"
PRIORITY = Priority.P1
WHY = "any `systemctl daemon-reload` then takes the GPUs away from containers that run"

_REQUIRED = "GPUs given by CDI or by --device, or docker with the cgroupfs driver"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.container is None:
        return (skip(ID, "", "the plan runs no container"),)
    return tuple(of_host(facts[one.host], needs.container) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, container: Container) -> Finding:
    if is_known(facts.gpus) and facts.gpus.vendor != "nvidia":
        return skip(ID, facts.host, "its GPUs are not NVIDIA's")
    if not is_known(facts.docker):
        return missing_fact(ID, facts.host, facts.docker, _REQUIRED, f"{ON_HOST}docker info")
    docker = facts.docker
    if docker.cgroup_driver is None:
        return skip(ID, facts.host, "docker does not tell its cgroup driver")
    specs = facts.software.cdi_specs if is_known(facts.software) else ()
    given = [one for one in values(container.arguments or (), "--device") if "nvidia" in one]
    at_risk = docker.cgroup_driver == "systemd" and docker.cgroup_version != "1"
    observed = f"docker with cgroup driver {docker.cgroup_driver}, version {docker.cgroup_version or 'not told'}"
    if not at_risk or specs or given:
        return Finding(ID, Status.PASS, facts.host, f"{observed}; {'CDI' if specs else 'devices are safe'}")
    by_hand = f"{ON_HOST}sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml, and --device nvidia.com/gpu=all"
    remedy = by_playbook(facts.host, "nvidia", by_hand)
    return Finding(ID, Status.WARN, facts.host, f"{observed}, and no CDI", _REQUIRED, remedy)
