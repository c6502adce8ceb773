"""The hosts of the inventory."""

from __future__ import annotations

from pathlib import Path

from inventory.errors import ExitCode, raise_all
from launch import request
from launch.console.report import Report, print_json, print_table
from launch.verbs import arguments
from playbooks.check import blocking


def hosts_list(*, hosts: str, inventory: str, json: bool) -> ExitCode:
    chosen = arguments.chosen_hosts(hosts, inventory)
    if json:
        print_json("hosts", chosen)
    else:
        columns = ("host", "address", "user", "port", "transport", "fabric", "state dir")
        print_table(
            columns,
            [
                (
                    *(one.name, one.address, one.user or "", str(one.port or ""), one.transport),
                    *(one.fabric_address or one.fabric_interface or "", one.state_dir),
                )
                for one in chosen
            ],
        )
    return ExitCode.DONE


def hosts_check(*, hosts: str, inventory: str, replay: str, record: str, active: bool, json: bool) -> ExitCode:
    from launch.hosts import fresh

    report = Report(quiet=json)
    with report.phase("Gather"):
        answered = arguments.answered(hosts, inventory, replay, opinion=False)
    looked = fresh.look(answered)
    if active:
        if replay:
            raise request.refused("active", "", "hosts: a bundle answers no packets")
        with report.phase("Try"):
            looked = fresh.look(answered, fresh.tried_on(looked, report.say))
    folder = Path(record) if record else None
    earlier, kept = (None, None) if replay and not record else fresh.keep(looked, folder)
    if json:
        print_json("hosts-check", fresh.document(looked, earlier, kept))
    else:
        print_table(*fresh.rows(looked))
        report.findings(looked.findings)
        for line in fresh.told(looked, earlier, kept):
            report.say(line)
    raise_all(list(answered.errors.values()))
    return ExitCode.CHECK_FAILED if blocking(looked.findings) else ExitCode.DONE


def hosts_trust(*, hosts: str, inventory: str, replace: bool, yes: bool) -> ExitCode:
    from launch.hosts.trust import trust_hosts

    trust_hosts(arguments.chosen_hosts(hosts, inventory), Report(), replace=replace, yes=yes)
    return ExitCode.DONE
