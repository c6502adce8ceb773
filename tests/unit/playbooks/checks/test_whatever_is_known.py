"""No check breaks, whatever a host does not tell and a plan leaves out; a large gang is checked in no time."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.facts.base import NOT_ASKED, Unknown, Why, is_known
from inventory.facts.host import Gpus, HostFacts, Network
from playbooks.check import run_checks
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements
from tests.unit.playbooks.checks.gang import gang_needs, gpus
from tests.unit.playbooks.checks.rack import rack_needs, rack_tray
from tests.unit.playbooks.checks.test_healthy_hosts import TRAYS, whole

SUBJECTS = tuple(one.name for one in fields(HostFacts) if "Maybe" in str(one.type))
EMPTY: dict[str, Any] = {
    **{name: () for name in SUBJECTS if "tuple" in str(HostFacts.__dataclass_fields__[name].type)},
    "gpus": Gpus("nvidia", None, None, (), simulated=False),
    "network": Network((), (), (1, 65535)),
    "lock": "",
    "glibc": "",
    "machine_digest": "",
    "boot_arguments": "",
    "numa_balancing": -1,
}
PARTS = {
    "argv": ("vllm",),
    "env": (("VLLM_ENGINE_READY_TIMEOUT_S", ""), ("NCCL_IB_HCA", "^"), ("A", "")),
    "gpus": tuple(range(64)),
    "address": "not an address",
    "interface": "",
    "ports": (0, 65535),
    "gpu_profile": None,
    "gpu_runtime": "x",
    "weights": None,
    "gpu_memory_utilization": 7.0,
}


def telling(facts: HostFacts, subject: str, told: Any) -> HostFacts:  # noqa: ANN401
    fields_of: dict[str, Any] = {subject: told}
    return replace(facts, **fields_of)


def broken(findings: tuple[Finding, ...]) -> list[str]:
    return [f"{one.check} {one.host}: {one.observed}" for one in findings if "the check broke" in one.observed]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_host_that_does_not_tell_one_thing(subject: str) -> None:
    for told in (NOT_ASKED, Unknown(Why.TIMED_OUT, ""), Unknown(Why.UNREADABLE, "\x00 " * 99), EMPTY.get(subject)):
        if told is not None:
            facts = {host: telling(one, subject, told) for host, one in TRAYS.items()}
            assert broken(run_checks(facts, gang_needs())) == []
            assert broken(run_checks({host: telling(one, subject, told) for host, one in rack(2).items()}, RACK)) == []


@given(st.sets(st.sampled_from(SUBJECTS)), st.sets(st.sampled_from(sorted(PARTS))), st.booleans())
@settings(max_examples=60, deadline=None)
def test_hosts_and_plans_of_which_much_is_missing(gone: set[str], odd: set[str], empty: bool) -> None:  # noqa: FBT001
    told: dict[str, Any] = {name: EMPTY[name] if empty and name in EMPTY else NOT_ASKED for name in gone}
    facts = {host: replace(one, **told) for host, one in TRAYS.items()}
    hosts = tuple(replace(one, **{name: PARTS[name] for name in odd}) for one in gang_needs().hosts)  # type: ignore[arg-type]
    assert broken(run_checks(facts, replace(gang_needs(), hosts=hosts))) == []


def test_a_plan_that_tells_next_to_nothing() -> None:
    bare = Requirements(gang_needs().hosts, "tray1", None, "", 0, (), ())
    assert broken(run_checks(TRAYS, bare)) == []
    assert broken(run_checks({}, bare)) == []
    assert broken(run_checks(TRAYS, replace(bare, hosts=()))) == []


def rack(size: int) -> dict[str, HostFacts]:
    return {f"tray{at}": replace(rack_tray(), host=f"tray{at}", gpus=gpus(f"tray{at}")) for at in range(size)}


RACK = rack_needs()


def gang(size: int) -> tuple[dict[str, HostFacts], Requirements]:
    """Trays that differ only in what is each one's own."""
    one = gang_needs().hosts[0]
    base = whole("tray1")
    names = [f"tray{at}" for at in range(1, size + 1)]
    facts = {name: of_name(base, name, at) for at, name in enumerate(names)}
    hosts: tuple[HostRequirements, ...] = tuple(
        replace(one, host=name, address=f"10.10.0.{11 + at}") for at, name in enumerate(names)
    )
    ranks = tuple(name for name in names for _ in range(one.processes.engine_cores))
    needs = replace(gang_needs(), hosts=hosts, head=names[0], ranks=ranks, data_parallel_size=len(ranks))
    return facts, needs


def of_name(base: HostFacts, name: str, at: int) -> HostFacts:
    assert is_known(base.system)
    assert is_known(base.network)
    mine = tuple(
        replace(each, addresses=tuple("10.10.0." + str(11 + at) if a == "10.10.0.11" else a for a in each.addresses))
        for each in base.network.interfaces
    )
    return replace(
        base,
        host=name,
        system=replace(base.system, hostname=name, boot_id=f"boot of {name}"),
        network=replace(base.network, interfaces=mine, routes=()),
        machine_digest=f"digest of {name}",
        gpus=gpus(name),
    )


def test_sixty_four_hosts_are_checked_in_under_two_seconds_of_cpu() -> None:
    facts, needs = gang(64)
    begun = time.process_time()
    findings = run_checks(facts, needs)
    spent = time.process_time() - begun
    assert len({one.host for one in findings}) >= len(facts)
    assert broken(findings) == []
    assert spent < 2.0, f"{spent:.2f} s of CPU time"


@pytest.mark.parametrize("size", [3, 4, 30])
@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("gpu.uniform", lambda one: replace(one, gpus=replace(one.gpus, driver="570.1.1"))),
        ("os.clock", lambda one: replace(one, system=replace(one.system, clock_offset_s=90.0))),
        ("os.arch", lambda one: replace(one, system=replace(one.system, architecture="x86_64"))),
    ],
)
def test_the_odd_one_out_is_named(size: int, check: str, change: Any) -> None:  # noqa: ANN401
    facts, needs = gang(size)
    facts["tray3"] = change(facts["tray3"])
    said = [one for one in run_checks(facts, needs) if one.check == check and one.status in {Status.FAIL, Status.WARN}]
    assert said
    for one in said:
        assert "tray3" in f"{one.host} {one.observed} {one.remedy}"
        assert one.host in {"", "tray3"}
