from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import is_amd, plans_no_gpu
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.next_kernel"
PRIORITY = Priority.P2
WHY = "after the next reboot the host comes up without its GPUs"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if plans_no_gpu(needs) or is_amd(facts):
        return skip(ID, facts.host, "the plan uses no GPU of NVIDIA here")
    driver = facts.driver if is_known(facts.driver) else None
    if driver is None or driver.next_kernel is None:
        return skip(ID, facts.host, "the installed kernels are not told")
    running = facts.system.kernel if is_known(facts.system) else ""
    if driver.next_kernel_module or driver.next_kernel == running:
        return Finding(ID, Status.PASS, facts.host, f"kernel {driver.next_kernel} has the nvidia module")
    kernel = quote(driver.next_kernel)
    remedy = f"{ON_HOST}sudo dkms autoinstall -k {kernel} || apt-cache search linux-modules-nvidia | grep {kernel}"
    remedy = by_playbook(facts.host, "nvidia", remedy)
    observed = f"the newest kernel {driver.next_kernel} has no nvidia module; running is {running or 'unknown'}"
    return Finding(ID, Status.WARN, facts.host, observed, "the module for the kernel of the next boot", remedy)
