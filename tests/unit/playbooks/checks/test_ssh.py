from __future__ import annotations

from dataclasses import replace

from playbooks.checks import ssh_hostkey, ssh_reach, ssh_stdout_clean, ssh_sudo
from playbooks.finding import Status
from tests.unit.playbooks.checks.cases import NO_TOOL, Case, assert_host, table
from tests.unit.playbooks.checks.gang import change, tray, tray_needs

USER = change(tray(), "system", can_sudo=False)


@table(Case("answers", Status.PASS, says=("0.4 s",)))
def test_reach(case: Case) -> None:
    assert_host(ssh_reach, case)


@table(Case("facts are there", Status.PASS))
def test_hostkey(case: Case) -> None:
    assert_host(ssh_hostkey, case)


@table(
    Case("silent", Status.PASS),
    Case("blank line only", Status.PASS, replace(tray(), noise="\r\n")),
    Case("bashrc", Status.WARN, replace(tray(), noise="hello from .bashrc\n"), says=("hello from .bashrc",)),
    Case("escape codes are shown, not sent", Status.WARN, replace(tray(), noise="\x1b[2J"), says=(r"\x1b[2J",)),
)
def test_stdout_clean(case: Case) -> None:
    assert_host(ssh_stdout_clean, case)


@table(
    Case("passwordless", Status.PASS),
    Case("refused and needed", Status.FAIL, USER, says=("system units", "'ops'", "sudoers")),
    Case("refused and not needed", Status.WARN, USER, replace(tray_needs(), needs_root=())),
    Case("unreadable", Status.UNKNOWN, replace(tray(), system=NO_TOOL), says=("missing-tool",)),
)
def test_sudo(case: Case) -> None:
    assert_host(ssh_sudo, case)
