"""Hosts on this machine, for trials: all simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.errors import ExitCode
from inventory.lab.state import DEFAULT as LAB
from launch import request
from launch.console.report import Report, print_json, print_table

if TYPE_CHECKING:
    from inventory.lab.network import Network


def _network(value: str) -> Network | None:
    """One of the lab's two networks; None for both."""
    if value not in {"control", "fabric", "both"}:
        raise request.refused("network", value, "control, fabric or both")
    return None if value == "both" else value  # type: ignore[return-value]


def lab_up(*, hosts: str, profile: str, systemd: bool) -> ExitCode:
    from launch import lab

    report = Report()
    made = lab.up(request.count("hosts", hosts, 2, 200), profile, systemd=systemd)
    kind = f"simulated hardware ({made.profile})" if made.simulated else "this machine's own hardware"
    report.say(f"lab of {len(made.hosts)} hosts is up: Linux namespaces, {kind}")
    model = "deepseek-v4-pro" if made.simulated else "tiny-dense"
    report.say(f"next: invoke deploy --model {model} --hosts {','.join(one.name for one in made.hosts)}")
    return ExitCode.DONE


def lab_down() -> ExitCode:
    from inventory.lab import lifecycle

    for removed in lifecycle.down(LAB):
        Report().say(removed)
    return ExitCode.DONE


def lab_list(*, json: bool) -> ExitCode:
    from inventory.lab import lifecycle

    found = lifecycle.labs()
    if json:
        print_json("labs", [{"lab": lab, "on": on} for lab, on in found])
    else:
        print_table(
            ("lab", "host", "power", "control", "fabric", "profile"),
            [
                (lab.name, one.name, "on" if one.name in on else "off", one.control, one.fabric, lab.profile)
                for lab, on in found
                for one in lab.hosts
            ],
        )
    return ExitCode.DONE


def lab_shell(*, host: str) -> int:
    from inventory.lab import faults

    return faults.shell(host, lab=LAB)


def lab_cut(*, host: str, network: str) -> ExitCode:
    from inventory.lab import faults

    faults.cut(host, only=_network(network), lab=LAB)
    return ExitCode.DONE


def lab_heal(*, host: str, network: str) -> ExitCode:
    from inventory.lab import faults

    faults.heal(host, only=_network(network), lab=LAB)
    return ExitCode.DONE


def lab_freeze(*, host: str) -> ExitCode:
    from inventory.lab import faults

    faults.freeze(host, lab=LAB)
    return ExitCode.DONE


def lab_thaw(*, host: str) -> ExitCode:
    from inventory.lab import faults

    faults.thaw(host, lab=LAB)
    return ExitCode.DONE


def lab_power_off(*, host: str) -> ExitCode:
    from inventory.lab import faults

    faults.power_off(host, lab=LAB)
    return ExitCode.DONE


def lab_power_on(*, host: str) -> ExitCode:
    from inventory.lab import faults

    faults.power_on(host, lab=LAB)
    return ExitCode.DONE


def demo() -> int:
    from launch import demo as tour

    return tour.run(Report())
