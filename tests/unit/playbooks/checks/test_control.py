"""What the control machine decides: hosts, addresses, variables, locks, the age of facts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from inventory.facts.base import NOT_ASKED, Unknown, Why
from inventory.facts.host import Device, HostFacts, Way
from playbooks.checks import (
    ctl_addr_roles,
    ctl_env_precedence,
    ctl_fact_freshness,
    ctl_hosts_parse,
    ctl_lock,
    ctl_probe_as_run_user,
    ctl_probe_deadline,
    ctl_same_machine_twice,
    os_clock,
    ssh_env_leak,
)
from playbooks.finding import Status
from playbooks.lock import Owner
from playbooks.requirements import Container, Layout, Requirements
from tests.unit.playbooks.checks.cases import HUNG, NO_TOOL, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.contexts import inside
from tests.unit.playbooks.checks.gang import (
    alone,
    cpu_needs,
    gang_needs,
    tray,
    tray_needs,
    trays,
    with_host,
)


def named(*hosts: str, **fields: Any) -> Requirements:  # noqa: ANN401
    parts = {"ranks": (), **fields}
    return replace(gang_needs(), hosts=tuple(replace(tray_needs(), host=host) for host in hosts), **parts)


@gang_table(
    GangCase("two trays", Status.PASS, says=("2 hosts: tray1, tray2",)),
    GangCase("a tuple of letters", Status.FAIL, {}, named("t", "r", "a"), says=("one letter is no host: t, r, a",)),
    GangCase("an option", Status.FAIL, {}, named("--help"), says=("an option",)),
    GangCase("twice", Status.FAIL, {}, named("tray1", "tray1"), says=("named twice: tray1",)),
    GangCase("an empty item", Status.FAIL, {}, named("tray1", ""), says=("an empty item",)),
    GangCase("none", Status.FAIL, {}, named()),
    GangCase("a rank elsewhere", Status.FAIL, {}, named("tray1", ranks=("tray9",)), says=("tray9",)),
    GangCase(
        "fewer than planned", Status.FAIL, {}, named("tray1", layout=Layout(nodes=2)), says=("the plan is for 2",)
    ),
    GangCase("as planned", Status.PASS, {}, named("tray1", layout=Layout(nodes=1))),
)
def test_hosts_parse(case: GangCase) -> None:
    assert_gang(ctl_hosts_parse, case)


BLIND = {"tray1": replace(tray("tray1"), network=NO_TOOL), "tray2": tray("tray2")}


@gang_table(
    GangCase("their own", Status.PASS, says=("ranks 10.10.0.11 on enP5p9s0",)),
    GangCase(
        "both addresses are told",
        Status.PASS,
        {"tray1": replace(tray("tray1"), way=Way("tray1", "192.0.2.7", "ops", 22)), "tray2": tray("tray2")},
        says=("ssh 192.0.2.7, ranks 10.10.0.11",),
    ),
    GangCase("loopback", Status.FAIL, needs=with_host(gang_needs(), "tray2", address="127.0.1.1"), blamed=("tray2",)),
    GangCase(
        "nobody's", Status.FAIL, needs=with_host(gang_needs(), "tray2", address="10.9.9.9"), says=("no interface",)
    ),
    GangCase("a name for loopback", Status.FAIL, needs=with_host(gang_needs(), "tray2", address="localhost")),
    GangCase("unknown", Status.UNKNOWN, BLIND, blamed=("tray1",)),
    GangCase(
        "not told",
        Status.SKIP,
        needs=replace(named("tray1", "tray2"), hosts=tuple(replace(tray_needs(h), address=None) for h in trays())),
    ),
    GangCase("one host", Status.SKIP, needs=alone(tray_needs())),
)
def test_addr_roles(case: GangCase) -> None:
    assert_gang(ctl_addr_roles, case)


PLANNED = with_host(gang_needs(), "tray2", env=(("HF_HOME", "/home/serve/hf"), ("NCCL_SOCKET_IFNAME", "enP5p9s0")))
IMAGE = Container("image", arguments=("--gpus", "all"))
PASSED = Container("image", arguments=("--gpus", "all", "-e", "HF_HOME=/home/serve/hf"))
BY_FILE = Container("image", arguments=("--env-file=/x/env",))


def around(*pairs: tuple[str, str], **fields: Any) -> dict[str, HostFacts]:  # noqa: ANN401
    return {"tray1": inside("tray1"), "tray2": inside("tray2", environment=pairs, **fields)}


OTHER = ("HF_HOME", "/data/models/huggingface")


@gang_table(
    GangCase("nothing", Status.PASS, around(), PLANNED),
    GangCase("the same", Status.PASS, around(("HF_HOME", "/home/serve/hf")), PLANNED),
    GangCase(
        "another value",
        Status.WARN,
        around(OTHER),
        PLANNED,
        blamed=("tray2",),
        says=("HF_HOME is '/data/models/huggingface'", "the plan says '/home/serve/hf'"),
    ),
    GangCase("a name that nobody listens to", Status.PASS, around(("PATH", "/x")), PLANNED),
    GangCase(
        "the image's wins",
        Status.FAIL,
        around(OTHER, where="container"),
        replace(PLANNED, container=IMAGE),
        says=("docker run -e HF_HOME=",),
    ),
    GangCase("the plan's is passed", Status.WARN, around(OTHER, where="container"), replace(PLANNED, container=PASSED)),
    GangCase("in a file", Status.WARN, around(OTHER, where="container"), replace(PLANNED, container=BY_FILE)),
    GangCase(
        "secrets are not compared",
        Status.PASS,
        around(("HF_TOKEN", "***")),
        with_host(gang_needs(), "tray2", env=(("HF_TOKEN", "x"),)),
    ),
    GangCase("no plan", Status.SKIP, around(OTHER)),
    GangCase("not looked", Status.SKIP, trays(), PLANNED),
)
def test_env_precedence(case: GangCase) -> None:
    assert_gang(ctl_env_precedence, case)


def inherited(*pairs: tuple[str, str]) -> dict[str, HostFacts]:
    return around(*pairs, is_cleared=False)


@gang_table(
    GangCase("nothing", Status.PASS, inherited()),
    GangCase(
        "some",
        Status.WARN,
        inherited(("HF_HOME", "/x"), ("https_proxy", "http://p")),
        says=("HF_HOME=/x", "https_proxy"),
    ),
    GangCase("the port", Status.FAIL, inherited(("VLLM_PORT", "8000")), blamed=("tray2",), says=("VLLM_PORT=8000",)),
    GangCase(
        "cleared: it reaches nobody", Status.PASS, around(("VLLM_PORT", "8000")), says=("nothing that ranks listen to",)
    ),
    GangCase("lo with two hosts", Status.FAIL, inherited(("NCCL_SOCKET_IFNAME", "lo")), says=("with 2 hosts",)),
    GangCase("planned itself", Status.WARN, inherited(("NCCL_SOCKET_IFNAME", "lo")), PLANNED),
    GangCase("lo with one host", Status.WARN, inherited(("NCCL_SOCKET_IFNAME", "lo")), alone(tray_needs("tray2"))),
    GangCase(
        "GPUs are hidden", Status.FAIL, inherited(("CUDA_VISIBLE_DEVICES", "0,1")), says=("hides the planned GPU 2-3",)
    ),
    GangCase("all are seen", Status.WARN, inherited(("CUDA_VISIBLE_DEVICES", "3,2,1,0"))),
    GangCase("by UUID", Status.FAIL, inherited(("CUDA_VISIBLE_DEVICES", "GPU-tray2-0,GPU-tray2-1")), says=("2-3",)),
    GangCase("empty hides all", Status.FAIL, inherited(("CUDA_VISIBLE_DEVICES", "")), says=("0-3",)),
    GangCase(
        "another CUDA",
        Status.FAIL,
        inherited(("LD_LIBRARY_PATH", "/opt/x:/usr/local/cuda-12.4/lib64")),
        says=("cuda-12.4",),
    ),
    GangCase("a path of no CUDA", Status.WARN, inherited(("LD_LIBRARY_PATH", "/opt/mpi/lib"))),
    GangCase("not looked", Status.SKIP, trays()),
)
def test_env_leak(case: GangCase) -> None:
    assert_gang(ssh_env_leak, case)


def asked(*ages: float) -> dict[str, HostFacts]:
    return {f"tray{n}": replace(tray(f"tray{n}"), read_at=1_000_000.0 - age) for n, age in enumerate(ages, 1)}


NOW = replace(gang_needs(), at=1_000_000.0)


@gang_table(
    GangCase("just now", Status.PASS, asked(1, 2), NOW, says=("2 s ago",)),
    GangCase("ten minutes", Status.PASS, asked(600, 0), NOW),
    GangCase("more", Status.WARN, asked(601, 0), NOW, blamed=("tray1",), says=("10 minutes ago",)),
    GangCase("days", Status.WARN, asked(0, 3 * 86400), NOW, blamed=("tray2",), says=("3 days", "--replay")),
    GangCase("no clock", Status.SKIP, asked(5, 5)),
    GangCase("not told", Status.SKIP, trays(), NOW),
)
def test_fact_freshness(case: GangCase) -> None:
    assert_gang(ctl_fact_freshness, case)


OWNER = Owner(
    "ops", "desk", "m", "b", 4711, 1.0, "2026-11-29T06:12:01Z", "deploy deepseek-v4-pro", "c0ffee00"
).to_line()


def locked(line: str, holder: str) -> HostFacts:
    return replace(tray(), lock=line, lock_holder=holder)


@table(
    Case("free", Status.PASS, locked("", "")),
    Case("another run", Status.FAIL, locked(OWNER, "alive"), says=("ops@desk (pid 4711)", "deploy deepseek-v4-pro")),
    Case("another machine's", Status.FAIL, locked(OWNER, "elsewhere"), says=("invoke unlock --hosts tray1",)),
    Case("of a run that is gone", Status.WARN, locked(OWNER, "gone"), says=("gone",)),
    Case("our own", Status.PASS, locked(OWNER, "ours")),
    Case("unreadable", Status.FAIL, locked(json.dumps([1]), "elsewhere"), says=("nobody who can be read",)),
    Case("may not be read", Status.WARN, replace(tray(), lock=Unknown(Why.REFUSED, "Permission denied"))),
    Case("not looked", Status.SKIP, tray()),
)
def test_lock(case: Case) -> None:
    assert_host(ctl_lock, case)


def late(*sections: str) -> HostFacts:
    return replace(tray(), late_sections=sections)


@table(
    Case("all in time", Status.PASS),
    Case(
        "the driver",
        Status.FAIL,
        late("nvidia: no answer before its deadline"),
        says=("does not answer", "journalctl -k"),
    ),
    Case("AMD's", Status.FAIL, late("amd: no answer before its deadline")),
    Case(
        "in the kernel", Status.FAIL, late("nvidia: did not end, not even when killed"), says=("hangs in the kernel",)
    ),
    Case("no GPU is planned", Status.WARN, late("nvidia: no answer before its deadline"), cpu_needs()),
    Case("another part", Status.WARN, late("disks: no answer before its deadline"), says=("disks",)),
    Case("told by the GPUs alone", Status.FAIL, replace(tray(), gpus=HUNG)),
)
def test_probe_deadline(case: Case) -> None:
    assert_host(ctl_probe_deadline, case)


DENIED = (Device("/dev/nvidia2", opens=False, group="video", gid=44), Device("/dev/nvidia0", opens=True))


@table(
    Case("the same user", Status.PASS, inside()),
    Case("another user", Status.FAIL, inside(user="serve"), says=("ranks run as serve", "sudo -u serve")),
    Case("a GPU that does not open", Status.FAIL, inside(devices=DENIED), says=("/dev/nvidia2", "group video")),
    Case("which the plan does not use", Status.PASS, inside(devices=DENIED), cpu_needs()),
    Case("not looked", Status.SKIP, tray()),
)
def test_probe_as_run_user(case: Case) -> None:
    assert_host(ctl_probe_as_run_user, case)


def digests(one: str, two: str) -> dict[str, HostFacts]:
    return {"tray1": replace(tray("tray1"), machine_digest=one), "tray2": replace(tray("tray2"), machine_digest=two)}


@gang_table(
    GangCase("two ids", Status.PASS, digests("aa", "bb")),
    GangCase("a cloned image", Status.WARN, digests("aa", "aa"), blamed=("tray2",), says=("machine id", "one image")),
)
def test_machine_ids(case: GangCase) -> None:
    assert_gang(ctl_same_machine_twice, case)


def clocks(*, synchronised: bool) -> dict[str, HostFacts]:
    return {"tray1": tray("tray1"), "tray2": replace(tray("tray2"), clock_synchronised=synchronised)}


@gang_table(
    GangCase("synchronised", Status.PASS, clocks(synchronised=True)),
    GangCase("not", Status.WARN, clocks(synchronised=False), blamed=("tray2",), says=("not synchronised",)),
    GangCase("not told", Status.PASS, {h: replace(f, clock_synchronised=NOT_ASKED) for h, f in trays().items()}),
)
def test_a_clock_that_nothing_keeps(case: GangCase) -> None:
    assert_gang(os_clock, case)
