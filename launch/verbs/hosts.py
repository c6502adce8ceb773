"""The hosts of the inventory."""

from __future__ import annotations

from inventory.errors import ExitCode
from launch.report import Report, print_json, print_table
from launch.verbs import arguments


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


def hosts_trust(*, hosts: str, inventory: str, replace: bool, yes: bool) -> ExitCode:
    from launch.trust import trust_hosts

    trust_hosts(arguments.chosen_hosts(hosts, inventory), Report(), replace=replace, yes=yes)
    return ExitCode.DONE
