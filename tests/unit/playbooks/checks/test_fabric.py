"""NVLink: fabric manager, fabric, IMEX; and PCIe where there is no NVLink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from inventory.facts.base import NOT_ASKED, Unknown, Why
from inventory.facts.host import Bridge, Device, HostFacts, ImexDomain, Link, Listener, NvlinkErrors
from playbooks.checks import (
    fabric_acs,
    fabric_clique_match,
    fabric_fm_service,
    fabric_fm_version,
    fabric_health,
    fabric_imex_channel,
    fabric_imex_config,
    fabric_imex_domain,
    fabric_nvl5_prereq,
    fabric_nvlink_errors,
    fabric_state,
)
from playbooks.checks.base import GangCheck, HostCheck
from playbooks.finding import Status
from playbooks.requirements import Layout, Requirements
from tests.unit.playbooks.checks.cases import HUNG, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.gang import ADDRESSES, change, cpu_host, cpu_needs, known, tray_needs
from tests.unit.playbooks.checks.rack import (
    CHANNEL,
    DOMAIN,
    NODES,
    hgx,
    hgx_needs,
    in_container,
    pcie,
    rack,
    rack_needs,
    rack_tray,
)

HOST = (fabric_state, fabric_health, fabric_fm_service, fabric_fm_version, fabric_nvl5_prereq, fabric_nvlink_errors)
GANG = (fabric_clique_match, fabric_imex_domain, fabric_imex_channel, fabric_imex_config)


def hgx_in(state: str | None, name: str = "NVIDIA H200") -> HostFacts:
    """A board whose GPUs all have one fabric state."""
    return hgx(name, fabric_state=state)


def rack_of(cluster: str) -> dict[str, HostFacts]:
    """The second tray belongs to another cluster."""
    trays = rack()
    second = known(trays["tray2"].gpus)
    devices = tuple(replace(one, health=replace(one.health, fabric_cluster=cluster)) for one in second.devices)
    return {**trays, "tray2": change(trays["tray2"], "gpus", devices=devices)}


def with_domain(domain: ImexDomain | None, imex: str | None = "active") -> dict[str, HostFacts]:
    return {host: change(one, "fabric", imex=imex, imex_domain=domain) for host, one in rack().items()}


def broken(symbol: str) -> dict[str, HostFacts]:
    return with_domain(replace(DOMAIN, broken=((0, 1, symbol),)))


def two_versions() -> ImexDomain:
    return replace(DOMAIN, nodes=(NODES[0], replace(NODES[1], version="580.95.09")))


@pytest.mark.parametrize("check", HOST, ids=lambda check: check.ID)
def test_a_plan_without_gpus_is_skipped(check: HostCheck) -> None:
    assert check.check(cpu_host(), cpu_needs()).status is Status.SKIP


@pytest.mark.parametrize("check", GANG, ids=lambda check: check.ID)
def test_a_healthy_rack_passes(check: GangCheck) -> None:
    assert {finding.status for finding in check.check(rack(), rack_needs())} == {Status.PASS}


@pytest.mark.parametrize("check", GANG, ids=lambda check: check.ID)
def test_a_plan_that_uses_no_nvlink_between_hosts_is_skipped(check: GangCheck) -> None:
    broken = rack(fabric_cluster="0", fabric_state="Not Supported")
    assert {one.status for one in check.check(broken, rack_needs(mnnvl=False))} == {Status.SKIP}


@pytest.mark.parametrize("check", GANG, ids=lambda check: check.ID)
def test_simulated_trays_refuse_nothing(check: GangCheck) -> None:
    """They have clusters, and neither IMEX nor channels."""
    lab = {host: replace(one, simulated=True, fabric=NOT_ASKED) for host, one in rack().items()}
    assert {one.status for one in check.check(lab, rack_needs(mnnvl=None))} <= {Status.SKIP, Status.PASS}


@table(
    Case("tray", Status.PASS, rack_tray(), says=("4 GPUs",)),
    Case("board", Status.PASS, hgx(), hgx_needs()),
    Case(
        "completed, but no success",
        Status.FAIL,
        rack_tray(fabric_status="Insufficient Resources"),
        says=("GPU 2", "Insufficient Resources", "NMX"),
    ),
    Case("in progress", Status.FAIL, rack_tray(fabric_state="In Progress", fabric_status=None), says=("In Progress",)),
    Case("a tray that is not supported", Status.FAIL, rack_tray(fabric_state="Not Supported"), says=("Not Supported",)),
    Case("a board in progress", Status.FAIL, hgx_in("In Progress"), hgx_needs()),
    Case("no status is told", Status.UNKNOWN, rack_tray(fabric_status=None), says=("status not told",)),
    Case("a board of a generation that tells nothing", Status.SKIP, hgx_in(None), hgx_needs()),
    Case("PCIe", Status.SKIP, pcie(), says=("no NVSwitch",)),
    Case("not planned", Status.PASS, rack_tray(fabric_state="In Progress"), replace(tray_needs(), gpus=(0, 1))),
    Case("the GPUs hang", Status.SKIP, replace(rack_tray(), gpus=HUNG)),
)
def test_state(case: Case) -> None:
    assert_host(fabric_state, case)


def unit(state: str | None, facts: HostFacts | None = None, **fields: object) -> HostFacts:
    return change(facts or hgx(), "fabric", manager=state, **fields)


NOT_IN = unit("inactive", hgx_in("In Progress"))


@table(
    Case("board, active", Status.PASS, hgx(), hgx_needs()),
    Case("board, inactive", Status.FAIL, NOT_IN, hgx_needs(), says=("inactive", "enable --now")),
    Case("board, absent", Status.FAIL, unit("absent", hgx_in("In Progress")), hgx_needs()),
    Case(
        "with what it said",
        Status.FAIL,
        unit("failed", NOT_IN, manager_says="NV_WARN_X"),
        hgx_needs(),
        says=("NV_WARN_X",),
    ),
    Case("in the fabric all the same (a VM)", Status.PASS, unit("absent"), hgx_needs(), says=("all the same",)),
    Case("tray", Status.SKIP, unit("failed", rack_tray()), says=("rack",)),
    Case("PCIe", Status.SKIP, pcie()),
    Case("PCIe, failed", Status.WARN, unit("failed", pcie()), says=("disable",)),
    Case("no systemd", Status.SKIP, unit(None), hgx_needs()),
    Case("nothing but switches on the bus", Status.FAIL, replace(NOT_IN, gpus=NOT_ASKED), hgx_needs()),
)
def test_fabric_manager(case: Case) -> None:
    assert_host(fabric_fm_service, case)


COMPLAINT = (
    "fabric manager NVIDIA GPU driver interface version 530.30.02 don't match with driver version 530.41.03. Please"
)


@table(
    Case("equal", Status.PASS, hgx(), hgx_needs(), says=("580.95.05",)),
    Case(
        "one patch behind",
        Status.FAIL,
        unit("failed", manager_version="580.95.04"),
        hgx_needs(),
        says=("580.95.04", "580.95.05"),
    ),
    Case(
        "by its own log",
        Status.FAIL,
        replace(unit("failed", manager_version=None, manager_says=COMPLAINT), gpus=NOT_ASKED, driver=NOT_ASKED),
        hgx_needs(),
        says=("530.30.02", "530.41.03"),
    ),
    Case("no version", Status.SKIP, unit("active", manager_version=None), hgx_needs()),
    Case("tray", Status.SKIP, unit("failed", rack_tray(), manager_version="1.2")),
    Case("PCIe", Status.SKIP, unit("inactive", pcie(), manager_version="1.2")),
)
def test_fabric_manager_version(case: Case) -> None:
    assert_host(fabric_fm_version, case)


def b200(state: str = "Completed", **fields: object) -> HostFacts:
    return change(hgx_in(state, "NVIDIA B200"), "driver", **{"nvlsm": True, **fields})


@table(
    Case("all there", Status.PASS, b200(), hgx_needs()),
    Case("no module", Status.FAIL, b200("In Progress", loaded=("nvidia", "mlx5_ib")), hgx_needs(), says=("ib_umad",)),
    Case("no manager", Status.FAIL, b200("In Progress", nvlsm=False), hgx_needs(), says=("nvlsm",)),
    Case("missing, and in the fabric", Status.WARN, b200(nvlsm=False), hgx_needs()),
    Case("not told", Status.SKIP, b200(loaded=None, nvlsm=None), hgx_needs()),
    Case("an older board", Status.SKIP, hgx(), hgx_needs()),
    Case("a tray", Status.SKIP, rack_tray()),
)
def test_nvlink5_prerequisites(case: Case) -> None:
    assert_host(fabric_nvl5_prereq, case)


def health(**entries: str) -> HostFacts:
    return rack_tray(fabric_health=tuple(entries.items()))


@table(
    Case("well", Status.PASS, rack_tray()),
    Case("not supported", Status.PASS, health(summary="Not Supported", bandwidth="Not Supported")),
    Case("unhealthy", Status.FAIL, health(summary="Unhealthy", bandwidth="Full"), says=("GPU 2: summary Unhealthy",)),
    Case("degraded", Status.FAIL, health(bandwidth="Degraded"), says=("bandwidth Degraded", "NCCL_MNNVL_ENABLE=0")),
    Case("route", Status.FAIL, health(route_unhealthy="True"), says=("route unhealthy True",)),
    Case("configuration", Status.FAIL, health(incorrect_configuration="Insufficient Nvlinks")),
    Case("recovering", Status.WARN, health(summary="Healthy", route_recovery_in_progress="True"), says=("recovery",)),
    Case("unhealthy while it recovers", Status.WARN, health(summary="Unhealthy", access_timeout_recovery="True")),
    Case("limited", Status.WARN, health(summary="Limited Capacity")),
    Case("a partition is assigned", Status.PASS, health(summary="Healthy", partition_assigned="True")),
    Case("nothing is told", Status.SKIP, pcie()),
)
def test_health(case: Case) -> None:
    assert_host(fabric_health, case)


ZERO = "00000000-0000-0000-0000-000000000000"


@gang_table(
    GangCase("another clique", Status.FAIL, rack(fabric_clique="7"), rack_needs(), says=("4026", "clique 7")),
    GangCase("another cluster", Status.FAIL, rack_of("other"), rack_needs(), says=("cluster other", "tray2")),
    GangCase(
        "zero", Status.FAIL, rack(fabric_cluster=ZERO, fabric_clique="0"), rack_needs(), ("tray2",), says=("zero",)
    ),
    GangCase("not told", Status.UNKNOWN, rack(fabric_cluster=None), rack_needs(), says=("tray2",)),
    GangCase("not told, not asked", Status.SKIP, rack(fabric_cluster=None), rack_needs(mnnvl=None)),
    GangCase("not asked, but told and different", Status.FAIL, rack_of("other"), rack_needs(mnnvl=None)),
    GangCase("boards", Status.SKIP, {"tray1": hgx(), "tray2": hgx()}, rack_needs(mnnvl=None)),
)
def test_clique(case: GangCase) -> None:
    assert_gang(fabric_clique_match, case)


UNAVAILABLE = replace(DOMAIN, state="DEGRADED", nodes=(NODES[0], replace(NODES[1], state="UNAVAILABLE", version=None)))
OTHER = replace(NODES[1], index=2, address="10.10.0.99", state="UNAVAILABLE")


@gang_table(
    GangCase(
        "a node is away",
        Status.FAIL,
        with_domain(UNAVAILABLE),
        rack_needs(),
        says=("node 1 (10.10.0.12) is UNAVAILABLE",),
    ),
    GangCase("never connected", Status.FAIL, broken("N"), rack_needs(), says=("0 to 1: N (never connected)",)),
    GangCase("version mismatch", Status.FAIL, broken("!V!"), rack_needs(), says=("!V!", "version mismatch")),
    GangCase(
        "a tray that the plan leaves alone",
        Status.PASS,
        with_domain(replace(DOMAIN, nodes=(*NODES, OTHER))),
        rack_needs(),
    ),
    GangCase("another version", Status.FAIL, with_domain(two_versions()), rack_needs(), says=("580.95.05, 580.95.09",)),
    GangCase(
        "not active", Status.FAIL, with_domain(None, "failed"), rack_needs(), ("tray1", "tray2"), says=("is failed",)
    ),
    GangCase("the tool is silent", Status.WARN, with_domain(None), rack_needs(), says=("is active on tray1, tray2",)),
    GangCase("no systemd either", Status.UNKNOWN, with_domain(None, None), rack_needs()),
    GangCase("this node alone", Status.PASS, with_domain(ImexDomain("READY")), rack_needs()),
    GangCase(
        "this node alone, not ready", Status.FAIL, with_domain(ImexDomain("STARTING")), rack_needs(), says=("STARTING",)
    ),
    GangCase("not asked, nothing told", Status.SKIP, with_domain(None), rack_needs(mnnvl=None)),
    GangCase("not asked, told and broken", Status.FAIL, with_domain(UNAVAILABLE), rack_needs(mnnvl=None)),
)
def test_imex_domain(case: GangCase) -> None:
    assert_gang(fabric_imex_domain, case)


def channel(opens: bool | None = None, **fabric: object) -> dict[str, HostFacts]:  # noqa: FBT001
    devices = () if opens is None else (Device(CHANNEL, opens=opens),)
    trays = rack()
    second = change(change(trays["tray2"], "context", devices=devices), "fabric", **fabric)
    return {**trays, "tray2": second}


@gang_table(
    GangCase("does not open", Status.FAIL, channel(opens=False), rack_needs(), ("tray2",), says=("chmod",)),
    GangCase(
        "in a container", Status.FAIL, channel(opens=False), rack_needs(container=in_container()), says=("--device",)
    ),
    GangCase("no channel", Status.FAIL, channel(imex_channels=()), rack_needs(), says=("NVreg_CreateImexChannel0",)),
    GangCase("no class", Status.FAIL, channel(imex_device=False), rack_needs(), says=("class",)),
    GangCase("nobody tried", Status.WARN, channel(), rack_needs(), says=("not seen",)),
    GangCase("could not be read", Status.UNKNOWN, channel(imex_channels=None), rack_needs()),
    GangCase("one host, not asked", Status.SKIP, rack(), rack_needs(mnnvl=None, hosts=(tray_needs(),))),
    GangCase("not asked, but trays", Status.PASS, rack(), rack_needs(mnnvl=None)),
)
def test_imex_channel(case: GangCase) -> None:
    assert_gang(fabric_imex_channel, case)


def lists(second: tuple[str, ...] | None, first: tuple[str, ...] = tuple(ADDRESSES.values())) -> dict[str, HostFacts]:
    trays = rack()
    both = {"tray1": first, "tray2": second}
    return {host: change(trays[host], "fabric", imex_nodes=nodes) for host, nodes in both.items()}


ONE, TWO = ADDRESSES.values()
DAEMONS = replace(
    rack_tray("tray2"), listeners=(Listener("::", 50000, "nvidia-imex(1)"), Listener("::", 50000, "imex(2)"))
)


@gang_table(
    GangCase("a foreign address", Status.FAIL, lists((ONE, "10.10.0.21")), rack_needs(), says=("10.10.0.21",)),
    GangCase("another order", Status.FAIL, lists((TWO, ONE)), rack_needs(), says=("differ",)),
    GangCase("listed twice", Status.FAIL, lists((ONE, TWO, TWO), (ONE, TWO, TWO)), rack_needs(), says=("twice",)),
    GangCase(
        "two addresses of one host", Status.FAIL, lists((ONE, TWO, "192.0.2.7"), (ONE, TWO, "192.0.2.7")), rack_needs()
    ),
    GangCase("two daemons", Status.FAIL, {**rack(), "tray2": DAEMONS}, rack_needs(), ("tray2",), says=("50000",)),
    GangCase("could not be read", Status.UNKNOWN, lists(None), rack_needs(), ("tray2",)),
    GangCase("no file anywhere, not asked", Status.SKIP, lists((), ()), rack_needs(mnnvl=None)),
    GangCase("no file anywhere", Status.FAIL, lists((), ()), rack_needs()),
)
def test_imex_config(case: GangCase) -> None:
    assert_gang(fabric_imex_config, case)


def bridged(facts: HostFacts, *acs: str) -> Mapping[str, HostFacts]:
    return {"tray1": replace(facts, bridges=(Bridge("00000000:40:01.1", acs),))}


def wide(width: int) -> Requirements:
    return rack_needs(layout=Layout(tensor_parallel=width))


LINKED = change(rack_tray(), "gpus", links=(Link(0, 1, "NV18"),))


@gang_table(
    GangCase("on, TP 4", Status.FAIL, bridged(pcie(), "SrcValid", "ReqRedir"), wide(4), says=("40:01.1", "iommu=pt")),
    GangCase("on, TP 1", Status.WARN, bridged(pcie(), "SrcValid", "ReqRedir"), wide(1)),
    GangCase("off", Status.PASS, bridged(pcie()), wide(4)),
    GangCase("on, with NVLink", Status.PASS, bridged(LINKED, "SrcValid", "ReqRedir"), wide(4), says=("NVLink",)),
    GangCase("for root", Status.SKIP, {"tray1": replace(pcie(), bridges=Unknown(Why.REFUSED, "lspci"))}, wide(4)),
    GangCase("the GPUs hang", Status.SKIP, {"tray1": replace(pcie(), gpus=HUNG)}, wide(4)),
)
def test_access_control(case: GangCase) -> None:
    assert_gang(fabric_acs, case)


def errors(count: int) -> HostFacts:
    return replace(rack_tray(), nvlink_errors=(NvlinkErrors(0, 0), NvlinkErrors(1, count)))


@table(
    Case("grew", Status.WARN, errors(9), replace(tray_needs(), earlier=errors(4)), says=("GPU 1: 9 errors, 4 on",)),
    Case("as before", Status.PASS, errors(4), replace(tray_needs(), earlier=errors(4))),
    Case("reset meanwhile", Status.PASS, errors(0), replace(tray_needs(), earlier=errors(4))),
    Case("no record", Status.SKIP, errors(4), says=("no earlier record",)),
    Case("the record does not tell", Status.SKIP, errors(4), replace(tray_needs(), earlier=rack_tray())),
    Case("no NVLink", Status.SKIP, replace(pcie(), nvlink_errors=())),
)
def test_link_errors(case: Case) -> None:
    assert_host(fabric_nvlink_errors, case)
