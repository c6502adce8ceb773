"""Active checks between real hosts: connections over the fabric, and what a firewall does to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from inventory.fleet import Fleet
from inventory.load import load
from playbooks.checks.active import net_pair_tcp
from playbooks.finding import Finding, Status
from playbooks.trials import run_trials
from tests.lab.conftest import on
from tests.lab.test_checks import needs_of

if TYPE_CHECKING:
    from inventory.lab.state import Lab
    from tests.lab.conftest import MakeLab

pytestmark = pytest.mark.lab

TABLE = "nft add table inet t; nft 'add chain inet t in { type filter hook input priority 0; }'"


@pytest.fixture(scope="module")
def lab(make_lab: MakeLab) -> Lab:
    return make_lab(2, "cpu")


def tried(lab: Lab) -> tuple[Finding, ...]:
    needs = needs_of(lab)
    argv = ("vllm", "serve", "m", "--data-parallel-rpc-port", "13345")
    needs = replace(needs, hosts=tuple(replace(one, argv=argv) for one in needs.hosts))
    with Fleet(load(lab.inventory).resolve(",".join(one.name for one in lab.hosts))) as fleet:
        return run_trials(fleet, needs, only={net_pair_tcp.ID})


def test_both_ways_over_the_fabric_and_nothing_is_left(lab: Lab) -> None:
    (finding,) = tried(lab)
    assert (finding.status, finding.observed) == (Status.PASS, "4 connections between the hosts, each way")
    assert on(lab, "tray1", "ss -Hltn 'sport = :13345'").stdout == ""


@pytest.mark.parametrize(
    ("rule", "words"),
    [("iif fab0 tcp dport 13345 drop", "packets are dropped"), ("iif fab0 tcp dport 13345 reject", "refuses")],
)
def test_a_firewall_on_the_head_is_named_by_who_meets_it(lab: Lab, rule: str, words: str) -> None:
    made = on(lab, "tray1", f"{TABLE}; nft 'add rule inet t in {rule}'")
    assert made.returncode == 0, made.stderr
    try:
        found = tried(lab)
    finally:
        on(lab, "tray1", "nft delete table inet t")
    assert [(one.status, one.host) for one in found] == [(Status.FAIL, "tray2")]
    assert f"tray1 ({lab.hosts[0].fabric}:13345)" in found[0].observed
    assert words in found[0].observed
