"""The checks on facts that were really gathered, over SSH, from lab hosts with simulated hardware."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from inventory.facts.gather import Asked, gather
from inventory.load import load
from inventory.transport.connect import connect
from playbooks.check import blocking, run_checks
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements
from tests.unit.playbooks.checks.gang import gang_needs

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.lab.state import Lab
    from tests.lab.conftest import MakeLab

pytestmark = pytest.mark.lab


def facts_of(lab: Lab) -> dict[str, HostFacts]:
    """Gather every host of the lab over SSH, asking for the way to the head."""
    facts = {}
    for host in load(lab.inventory).resolve(",".join(one.name for one in lab.hosts)):
        with closing(connect(host)) as transport:
            facts[host.name] = gather(transport, Asked(addresses=(lab.hosts[0].fabric,)))
    return facts


def needs_of(lab: Lab) -> Requirements:
    """The two-tray plan of the unit tests, on the names and addresses of the lab."""
    hosts = tuple(
        replace(one, host=host.name, address=host.fabric, interface="fab0")
        for one, host in zip(gang_needs().hosts, lab.hosts, strict=True)
    )
    head, follower = lab.hosts
    ranks = (head.name,) * 4 + (follower.name,) * 4
    return replace(gang_needs(), hosts=hosts, head=head.name, head_address=head.fabric, ranks=ranks)


def checked(lab: Lab) -> tuple[Finding, ...]:
    return run_checks(facts_of(lab), needs_of(lab))


@pytest.fixture(scope="module")
def trays(make_lab: MakeLab) -> Lab:
    return make_lab(2, "gb200")


def test_two_healthy_trays_are_not_blocked(trays: Lab) -> None:
    findings = checked(trays)
    assert blocking(findings) == ()
    warned = {finding.check for finding in findings if finding.status is Status.WARN}
    # No systemd, this machine's own limits and memory, no token, and only the tools that this machine has.
    assert warned <= {"rt.supervisor", "os.nofile", "os.shm", "sto.hub_auth", "ssh.tools"}


def test_what_is_wrong_with_the_plan_is_seen_on_real_hosts(trays: Lab) -> None:
    needs = needs_of(trays)
    wrong = replace(needs.hosts[1], interface="ctl0", ports=(22,), memory_per_gpu_bytes=1 << 40)
    findings = run_checks(facts_of(trays), replace(needs, hosts=(needs.hosts[0], wrong)))
    failed = {finding.check for finding in blocking(findings)}
    assert failed == {"net.iface", "net.mtu_equal", "net.ports_free", "plan.vram_fit"}


@pytest.mark.parametrize(
    ("profile", "check", "says"),
    [
        ("few-cores", "cpu.physical_cores", "3 physical cores in the allowed CPUs 0-2"),
        ("broken-driver", "gpu.nvml", "the driver does not answer"),
    ],
)
def test_a_broken_host_is_refused_for_its_reason(make_lab: MakeLab, profile: str, check: str, says: str) -> None:
    findings = blocking(checked(make_lab(2, profile)))
    assert {finding.host for finding in findings if finding.check == check} == {"tray1", "tray2"}
    assert [finding.observed for finding in findings if finding.check == check and says not in finding.observed] == []
