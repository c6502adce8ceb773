"""How ssh reaches hosts, and what a login on them is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inventory import fanout
from inventory.errors import HostUnreachable
from inventory.facts.base import NOT_ASKED, Unknown, Why
from inventory.facts.host import Environment, HostFacts, Session, Software, SshServer, Way
from inventory.transport import openssh
from playbooks.check import unreachable_findings
from playbooks.checks import (
    ssh_agent_keys,
    ssh_config_resolve,
    ssh_controlpath_len,
    ssh_detach_survives,
    ssh_parallel_limits,
    ssh_posix_shell,
    ssh_tools,
)
from playbooks.finding import Status
from tests.unit.playbooks.checks.cases import HUNG, NO_TOOL, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.contexts import context, inside
from tests.unit.playbooks.checks.gang import change, gang_needs, tray

WAY = Way("tray1", "192.0.2.11", "ops", 22, agent_keys=2)
HERE = replace(tray(), way=Unknown(Why.NOT_ASKED, "this machine itself: no ssh"))


def reached(host: str = "tray1", **fields: Any) -> HostFacts:  # noqa: ANN401
    return replace(tray(host), way=replace(WAY, **fields))


@table(
    Case("directly", Status.PASS, reached(), says=("tray1 is ops@192.0.2.11:22, no jump host",)),
    Case("through one", Status.PASS, reached(jumps=("ops@bastion.lab:22",)), says=("via ops@bastion.lab:22",)),
    Case("by a command", Status.PASS, reached(proxy_command="nc -X 5 %h %p"), says=("nc -X 5",)),
    Case("no user", Status.FAIL, reached(user=""), says=("tells no user", "ssh -G tray1")),
    Case("no port, no name", Status.FAIL, reached(port=None, hostname=""), says=("no hostname and no port",)),
    Case("this machine", Status.SKIP, HERE, says=("no ssh",)),
    Case("an old bundle", Status.SKIP, tray()),
)
def test_config_resolve(case: Case) -> None:
    assert_host(ssh_config_resolve, case)


@table(
    Case("few", Status.PASS, reached(agent_keys=5)),
    Case("many", Status.WARN, reached(agent_keys=6), says=("offers 6 keys", "IdentitiesOnly yes")),
    Case("many, but the host has its own", Status.PASS, reached(agent_keys=9, identities_only=True)),
    Case("the agent is silent", Status.SKIP, reached(agent_keys=None)),
    Case("this machine", Status.SKIP, HERE),
)
def test_agent_keys(case: Case) -> None:
    assert_host(ssh_agent_keys, case)


def test_a_server_that_had_enough_of_keys_is_told_with_the_remedy() -> None:
    words = "Received disconnect from 192.0.2.11 port 22:2: Too many authentication failures"
    errors = {"tray1": HostUnreachable("the login was refused", id="auth", observed=words)}
    found = {finding.check: finding for finding in unreachable_findings(errors)}
    assert found["ssh.reach"].status is Status.FAIL
    assert found["ssh.agent_keys"].status is Status.FAIL
    assert "IdentitiesOnly" in found["ssh.agent_keys"].remedy
    other = {"tray1": HostUnreachable("the login was refused", id="auth", observed="Permission denied (publickey)")}
    assert {finding.check for finding in unreachable_findings(other)} == {"ssh.reach"}


def fleet(*ways: Way, **server: int) -> dict[str, HostFacts]:
    names = [f"tray{number}" for number in range(1, len(ways) + 1)]
    facts = {name: replace(tray(name), way=way) for name, way in zip(names, ways, strict=True)}
    if server:
        limits = SshServer(**{"start": 10, "rate": 30, "full": 100, "sessions": 10, **server})
        facts["tray1"] = replace(facts["tray1"], ssh_server=limits)
    return facts


BEHIND = replace(WAY, jumps=("ops@192.0.2.11:22",))


@gang_table(
    GangCase("two hosts", Status.PASS, fleet(WAY, WAY)),
    GangCase("twelve through one jump host: eight at once", Status.PASS, fleet(*[BEHIND] * 12), says=("at most 8",)),
    GangCase(
        "the jump host drops earlier",
        Status.WARN,
        fleet(WAY, *[BEHIND] * 6, start=4),
        says=("6 logins at once go to tray1", "begins to drop at 4", "MaxStartups"),
    ),
    GangCase("one login each is never too many", Status.PASS, fleet(WAY, WAY, start=1)),
    GangCase(
        "logins were dropped",
        Status.WARN,
        fleet(replace(WAY, dropped_logins=2), WAY, replace(WAY, dropped_logins=1)),
        says=("3 logins were dropped", "tray1 2, tray3 1"),
    ),
    GangCase("no ssh", Status.SKIP, {"tray1": HERE}),
)
def test_parallel_limits(case: GangCase) -> None:
    assert_gang(ssh_parallel_limits, case)


def test_the_limits_are_those_of_the_transports() -> None:
    assert ssh_parallel_limits.HANDSHAKES == fanout.HANDSHAKES
    assert ssh_controlpath_len.LONGEST == openssh.CONTROL_PATH_LIMIT


@table(
    Case("none", Status.PASS, reached()),
    Case("90 characters", Status.PASS, reached(control_path="/" + "a" * 89)),
    Case("91", Status.FAIL, reached(control_path="/" + "a" * 90), says=("91 characters", "/tmp/cm-%C")),
    Case("this machine", Status.SKIP, HERE),
)
def test_controlpath(case: Case) -> None:
    assert_host(ssh_controlpath_len, case)


def with_shell(shell: str | None) -> HostFacts:
    return replace(tray(), session=Session(shell))


@table(
    *(Case(shell, Status.PASS, with_shell(shell)) for shell in ("/bin/bash", "/bin/sh", "/usr/bin/zsh")),
    *(
        Case(shell, Status.WARN, with_shell(shell), says=(shell, "chsh"))
        for shell in ("/usr/bin/fish", "/bin/tcsh", "/usr/sbin/nologin")
    ),
    Case("not told", Status.SKIP, with_shell(None)),
    Case("unknown", Status.SKIP, replace(tray(), session=NO_TOOL)),
)
def test_posix_shell(case: Case) -> None:
    assert_host(ssh_posix_shell, case)


def lacks(*tools: str) -> HostFacts:
    return replace(tray(), missing_tools=tools)


@table(
    Case("all there", Status.PASS, lacks()),
    Case("two", Status.WARN, lacks("ss", "lspci"), says=("ss, lspci", "iproute2 pciutils")),
    Case("a tool for NICs where there are none", Status.PASS, replace(lacks("ibv_devinfo"), rdma=())),
    Case("a tool for NICs that are not known", Status.WARN, lacks("ibv_devinfo"), says=("ibverbs-utils",)),
    Case("systemd's where there is none", Status.PASS, change(lacks("timedatectl"), "software", systemd=None)),
    Case("unknown", Status.SKIP, replace(tray(), missing_tools=HUNG)),
)
def test_tools(case: Case) -> None:
    assert_host(ssh_tools, case)


SCOPE = "/user.slice/user-1000.slice/session-3.scope"
USER_UNIT = "/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1f.scope"


def detached(cgroup: str, session: Session | None = None, systemd: str | None = "252") -> HostFacts:
    software = Software(
        systemd, None, None, None, None, None, (Environment("d", "", complete=True, simulated=False),), ()
    )
    return replace(
        tray(),
        context=context(where="process-group", cgroup=cgroup),
        software=software,
        session=session or NOT_ASKED,
    )


@table(
    Case("a system unit", Status.PASS, inside()),
    Case("a container", Status.PASS, inside(where="container", cgroup="/")),
    Case("no manager of sessions", Status.PASS, detached("/"), says=("not a login's",)),
    Case("a service of the system", Status.PASS, detached("/system.slice/ssh.service")),
    Case("a session", Status.WARN, detached(SCOPE, Session(None, linger=False, kill_user_processes=False))),
    Case(
        "a session that is swept",
        Status.FAIL,
        detached(SCOPE, Session(None, linger=True, kill_user_processes=True)),
        says=("they end with it", "KillUserProcesses=yes"),
    ),
    Case(
        "a user's unit that lingers",
        Status.WARN,
        detached(USER_UNIT, Session(None, linger=True, kill_user_processes=True)),
    ),
    Case(
        "a user's unit without linger that is swept",
        Status.FAIL,
        detached(USER_UNIT, Session(None, linger=False, kill_user_processes=True)),
    ),
    Case(
        "systemd 255 and a user's unit",
        Status.WARN,
        detached(USER_UNIT, Session(None, linger=True, kill_user_processes=False), "255.4-1ubuntu8"),
        says=("systemd 255 loses user units", "sudoers"),
    ),
    Case("settings that nobody tells", Status.WARN, detached(SCOPE), says=("not told",)),
    Case("the unit could not be tried", Status.WARN, replace(tray(), context=HUNG)),
    Case("nobody looked", Status.SKIP, replace(tray(), context=NOT_ASKED)),
)
def test_detach_survives(case: Case) -> None:
    assert_host(ssh_detach_survives, case)


@pytest.mark.parametrize("cgroup", [SCOPE, USER_UNIT, "/user-1000.slice/session-c2.scope"])
def test_groups_of_logins_are_known(cgroup: str) -> None:
    assert ssh_detach_survives.USER.search(cgroup)


def test_gangs_of_unreached_hosts_are_skipped() -> None:
    (finding,) = ssh_parallel_limits.check({}, gang_needs())
    assert finding.status is Status.SKIP
