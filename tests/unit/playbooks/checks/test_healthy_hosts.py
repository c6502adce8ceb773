"""Two trays of which everything about the host itself is known and well: no check of it has anything to say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.facts.base import NOT_ASKED, Unknown, Why
from inventory.facts.host import Busy, HostFacts, Load, Mount, NumaBind, Session, SshServer, Toolchain, Updates, Way
from playbooks.check import run_checks
from playbooks.finding import Status
from tests.unit.playbooks.checks.contexts import inside
from tests.unit.playbooks.checks.gang import ADDRESSES, gang_needs

GROUPS = ("ssh.", "ctl.", "os.", "cpu.", "numa.")
NEEDS = replace(gang_needs(), rdma=True, at=1_000_000.0)


def whole(host: str) -> HostFacts:
    return replace(
        inside(host),
        numa_bind=NumaBind(numactl=True, cpu=(0, 1), memory=(0, 1), tried=(0, 1)),
        numa_balancing=0,
        session=Session("/bin/bash", linger=False, kill_user_processes=False),
        ssh_server=SshServer(10, 30, 100, 10),
        updates=Updates(automatic=False, wants_reboot=False, kernels=("6.8.0-64-generic-64k",), upgraded_since_boot=()),
        toolchain=Toolchain("cc 13.3.0", ""),
        load=Load((0.4, 0.3, 0.2), (Busy(1, 0.1, "systemd"),)),
        missing_tools=(),
        glibc="2.39",
        machine_digest=f"digest of {host}",
        clock_synchronised=True,
        lock="",
        lock_holder="",
        way=Way(host, ADDRESSES[host], "ops", 22, jumps=("ops@192.0.2.1:22",), agent_keys=1),
        mounts=(Mount("/", "ext4", "/dev/nvme0n1p2", ("rw", "relatime")),),
        oom_kills=(),
        read_at=999_999.0,
    )


TRAYS = {host: whole(host) for host in ADDRESSES}
LATER = (
    *("context", "numa_bind", "numa_balancing", "session", "ssh_server", "updates", "toolchain", "load", "way", "lock"),
    *("missing_tools", "glibc", "machine_digest", "clock_synchronised", "lock_holder", "oom_kills", "mounts"),
)
"""Facts that older bundles do not hold."""


def without(facts: HostFacts, reason: Unknown) -> HostFacts:
    for name in LATER:
        facts = replace(facts, **{name: reason})  # type: ignore[arg-type]
    return facts


def findings(facts: dict[str, HostFacts]) -> dict[tuple[str, str], Status]:
    found = run_checks(facts, NEEDS)
    return {(one.check, one.host): one.status for one in found if one.check.startswith(GROUPS)}


def test_nothing_is_said_of_healthy_hosts() -> None:
    said = {key: status for key, status in findings(TRAYS).items() if status not in {Status.PASS, Status.SKIP}}
    assert said == {}


def test_most_of_it_is_really_looked_at() -> None:
    skipped = {check for (check, _), status in findings(TRAYS).items() if status is Status.SKIP}
    assert skipped <= {
        "ctl.env_precedence",  # the plan of the test has no environment
        "numa.bind_probe",  # nor does it bind
        "numa.numactl",
        "numa.coherent_nodes",
    }


def test_an_older_bundle_refuses_nothing() -> None:
    old = {host: without(facts, NOT_ASKED) for host, facts in TRAYS.items()}
    assert not {key for key, status in findings(old).items() if status in {Status.FAIL, Status.UNKNOWN}}


@pytest.mark.parametrize("why", [Why.MISSING_TOOL, Why.REFUSED, Why.TIMED_OUT, Why.EMPTY])
def test_what_a_host_cannot_tell_is_no_failure(why: Why) -> None:
    """Only what RDMA needs where ranks start must be known: the unit asks for the rest itself."""
    blind = {host: without(facts, Unknown(why, "x")) for host, facts in TRAYS.items()}
    said = findings(blind)
    assert not {key for key, status in said.items() if status is Status.FAIL}
    unknown = {check for (check, _), status in said.items() if status is Status.UNKNOWN}
    assert unknown == {"os.memlock"}
