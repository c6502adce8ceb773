"""Show host keys, ask, record them: nothing is believed that nobody has seen."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inventory.errors import BadInput, BringupError, raise_all
from inventory.transport.hostkeys import Scanned, State, scan, trust

if TYPE_CHECKING:
    from inventory.schema import Host
    from launch.console.report import Report


def trust_hosts(hosts: Sequence[Host], report: Report, *, replace: bool, yes: bool) -> None:
    """Go through the machines on the way to each host; a host that fails does not keep the others from being asked."""
    errors: list[BringupError] = []
    for host in hosts:
        try:
            for scanned in scan(host):
                _trust(scanned, report, replace=replace, yes=yes)
        except BringupError as error:
            errors.append(error)
    raise_all(errors)


def _trust(scanned: Scanned, report: Report, *, replace: bool, yes: bool) -> None:
    for key in scanned.keys:
        report.say(f"{scanned.name}: {key.type} {key.fingerprint} ({scanned.state})")
    if scanned.state is State.KNOWN:
        return
    if not yes and not _agreed(scanned):
        report.say(f"{scanned.name}: not recorded")
        return
    recorded = trust(scanned, replace=replace)
    report.say(f"{scanned.name}: {len(recorded)} key(s) recorded", style="green")


def _agreed(scanned: Scanned) -> bool:
    if not sys.stdin.isatty():
        raise BadInput(
            "nobody can be asked whether these keys are right",
            id="not-interactive",
            observed="standard input is no terminal",
            required="--yes, when you have compared the fingerprints with the hosts' own",
            next_command=f"invoke hosts.trust --hosts {scanned.host} --yes",
            host=scanned.host,
        )
    sys.stderr.write(f"Record the key of {scanned.name}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
