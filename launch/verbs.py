"""What each verb of `tasks.py` does: check the flags, call one function, show, return the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from inventory.errors import BringupError, ExitCode, raise_all
from inventory.fleet import Fleet
from inventory.load import VARIABLE, load
from launch import request
from launch.report import Report, print_json, print_lines, print_table, printable

if TYPE_CHECKING:
    from inventory.lab.network import Network
    from inventory.schema import Host, Inventory
    from launch.gather import Answered
    from launch.request import Request
    from launch.survey import Deployment

DEFAULT_LINES = 50
LAB = "lab"


def deploy(
    *, model: str, hosts: str, inventory: str, recipes: str, dry_run: bool, json: bool, **flags: str
) -> ExitCode:
    from launch import deploy as run
    from launch.catalogue import Catalogue

    wanted = _request(model, **flags)
    chosen = _hosts(hosts, inventory)
    found = Catalogue.of(_folders(recipes)).find(wanted.model)
    report = Report(quiet=json)
    with Fleet(chosen) as fleet:
        prepared = run.prepare(found, wanted, fleet, report)
        report.plan(prepared.plan)
        if json:
            print_json("plan", prepared.plan, hide=_passwords(chosen))
        if dry_run:
            return ExitCode.DONE if prepared.plan.empty else ExitCode.CHANGES_PENDING
        run.carry_out(prepared, fleet, report, lambda: run.prepare(found, wanted, fleet, report))
    return ExitCode.DONE


def check(*, model: str, hosts: str, inventory: str, recipes: str, replay: str, json: bool, **flags: str) -> ExitCode:
    from launch import deploy as run
    from launch.catalogue import Catalogue
    from playbooks.check import blocking

    wanted = _request(model, **flags)
    found = Catalogue.of(_folders(recipes)).find(wanted.model)
    report = Report(quiet=json)
    with report.phase("Gather"):
        answered = _answered(hosts, inventory, replay, opinion=False)
        raise_all(list(answered.errors.values()))
    with report.phase("Place and check"):
        findings = run.findings(found, wanted, tuple(answered.hosts.values()), answered.facts())
    report.findings(findings)
    if json:
        print_json("findings", findings)
    return ExitCode.CHECK_FAILED if blocking(findings) else ExitCode.DONE


def probe(  # noqa: PLR0913  (its flags)
    *,
    hosts: str,
    inventory: str,
    host_detail: bool,
    save: str,
    raw: bool,
    replay: str,
    diff: str,
    json: bool,
) -> ExitCode:
    from launch import probe as look

    look.refuse_flags(save_at=save, raw=raw, diff=diff, host_detail=host_detail)
    answered = _answered(hosts, inventory, replay, opinion=True)
    if save:
        look.keep(Path(save), answered, raw=raw)
    if diff:
        look.show_changes(Path(diff), answered, json=json)
    else:
        look.show(answered, host_detail=host_detail, json=json)
    raise_all(list(answered.errors.values()))
    return ExitCode.DONE


def status(*, hosts: str, name: str, inventory: str, json: bool) -> ExitCode:
    from launch import operate
    from launch.tables import status_rows

    with _deployment(hosts, name, inventory) as (fleet, found):
        seen = operate.status(fleet, found)
    if json:
        print_json("status", seen)
    else:
        Report().say(f"{seen.deployment.gang.name}: {seen.verdict.health}: {seen.verdict.reason}")
        print_table(*status_rows(seen))
        Report().say(f"next: {seen.verdict.next_command}")
    return seen.verdict.exit_code


def logs(*, hosts: str, name: str, lines: str, inventory: str) -> ExitCode:
    from launch import operate

    number = request.count("lines", lines, DEFAULT_LINES, 100_000)
    with _deployment(hosts, name, inventory) as (fleet, found):
        told = operate.logs(fleet, found.gang, number)
    for host, text in told.items():
        if not isinstance(text, BringupError):
            sys.stdout.writelines(f"{host}: {printable(line)}\n" for line in text.splitlines())
    raise_all([text for text in told.values() if isinstance(text, BringupError)])
    return ExitCode.DONE


def stop(*, hosts: str, name: str, inventory: str) -> ExitCode:
    from launch import operate
    from playbooks.control import locked, this_run

    report = Report()
    with _deployment(hosts, name, inventory) as (fleet, found):
        reachable = [host for host in (*found.gang.hosts, *found.strays) if host not in found.unanswered]
        with locked(fleet, reachable, this_run(f"stop {found.gang.name}"), fleet.state_dirs):
            operate.stop(fleet, found.gang, report, strays=tuple(found.strays))
    report.say(f"{found.gang.name} is stopped", style="green")
    return ExitCode.DONE


def restart(*, hosts: str, name: str, inventory: str, timeout: str) -> ExitCode:
    from launch import operate
    from playbooks.control import locked, this_run

    report = Report()
    timeout_s = request.seconds("timeout", timeout, request.DEFAULT_READY_TIMEOUT_S)
    with _deployment(hosts, name, inventory) as (fleet, found):
        gang = found.gang
        with locked(fleet, (*gang.hosts, *found.strays), this_run(f"restart {gang.name}"), fleet.state_dirs):
            operate.restart(fleet, found, report, timeout_s=timeout_s)
    report.timings()
    report.say(f"{gang.name} is serving", style="green")
    return ExitCode.DONE


def unlock(*, hosts: str, inventory: str) -> ExitCode:
    from playbooks.control import unlock as break_locks

    report = Report()
    with Fleet(_hosts(hosts, inventory)) as fleet:
        broken = break_locks(fleet, fleet.state_dirs)
    for host, holder in broken.items():
        if not isinstance(holder, BringupError):
            report.say(f"{host}: " + (f"unlocked; it was {holder}" if holder else "was not locked"))
    raise_all([holder for holder in broken.values() if isinstance(holder, BringupError)])
    return ExitCode.DONE


def hosts_list(*, hosts: str, inventory: str, json: bool) -> ExitCode:
    chosen = _hosts(hosts, inventory)
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


def recipes_list(*, recipes: str, json: bool) -> ExitCode:
    from launch.catalogue import Catalogue
    from launch.tables import recipe_rows

    catalogue = Catalogue.of(_folders(recipes))
    found = [catalogue.find(one) for one in catalogue.ids()]
    if json:
        print_json("recipes", {one.id: one.recipe for one in found})
    else:
        print_table(*recipe_rows(found))
    return ExitCode.DONE


def recipes_show(
    *, model: str, hardware: str, nodes: str, variant: str, strategy: str, recipes: str, json: bool
) -> ExitCode:
    from launch import recipes_show as show
    from launch.catalogue import Catalogue

    found = Catalogue.of(_folders(recipes)).find(request.required("model", model, "deepseek-v4-pro"))
    number = request.count("nodes", nodes, 1, 16) if nodes else 0
    shown = show.show(found, hardware=hardware, nodes=number, variant=variant, strategy=strategy)
    if json:
        print_json("recipe", shown)
    else:
        print_lines(show.lines(shown, found))
    return ExitCode.DONE


def recipes_validate(*, recipes: str, vllm: str, json: bool) -> ExitCode:
    from launch import recipes_validate as run
    from launch.catalogue import Catalogue

    report = Report()
    version = run.version_for(vllm) if vllm else ""
    judged = []
    for one in run.validate(Catalogue.of(_folders(recipes), ours=not recipes), version, run.every_tenth(report.say)):
        judged.append(one)
        print_lines(() if json else run.lines(one))
    if json:
        print_json("recipe-faults", judged)
    report.say(run.summary(judged, version))
    return ExitCode.CHECK_FAILED if any(map(run.is_refused, judged)) else ExitCode.DONE


def _request(model: str, **flags: str) -> Request:
    return request.Request(
        model=request.required("model", model, "deepseek-v4-pro"),
        name=request.deployment_name(flags["name"]),
        variant=flags["variant"] or None,
        strategy=flags["strategy"] or None,
        http_port=request.port("port", flags["port"], request.DEFAULT_HTTP_PORT),
        rpc_port=request.port("rpc-port", flags["rpc_port"], request.DEFAULT_RPC_PORT),
        ready_timeout_s=request.seconds("timeout", flags.get("timeout", ""), request.DEFAULT_READY_TIMEOUT_S),
        accept_unknown=request.ids(flags["accept_unknown"]),
        overrides=request.overrides(flags["override"], flags["because"]),
    )


def _file(path: str) -> Path | None:
    """The inventory of the flag, the variable, the lab that `lab.up` made, or the default (None): in that order."""
    from inventory.lab.lifecycle import labs

    if path or os.environ.get(VARIABLE):
        return Path(path) if path else None
    return next((lab.inventory for lab, _ in labs() if lab.name == LAB and lab.survived), None)


def _listed(path: str) -> Inventory:
    listed = load(_file(path))
    for warning in listed.warnings:
        Report().say(f"inventory: {warning}", style="yellow")
    return listed


def _hosts(selection: str, inventory: str) -> tuple[Host, ...]:
    return _selected(_listed(inventory), selection)


def _selected(listed: Inventory, selection: str) -> tuple[Host, ...]:
    """The hosts; `all` of an inventory that lists none is this machine, where the embedded trial runs."""
    wanted = request.required("hosts", selection, "tray1,tray2")
    return listed.resolve("local" if wanted == "all" and not listed.hosts else wanted)


def _passwords(hosts: Sequence[Host]) -> set[str]:
    """The user:password parts of mirror and proxy addresses."""
    urls = (
        url for host in hosts for url in (host.mirrors.pypi, host.mirrors.torch, host.mirrors.hub, host.proxy) if url
    )
    parts = (urlsplit(url.reveal()).netloc.rpartition("@") for url in urls)
    return {user for user, at, _ in parts if at}


def _network(value: str) -> Network | None:
    """One of the lab's two networks; None for both."""
    if value not in {"control", "fabric", "both"}:
        raise request.refused("network", value, "control, fabric or both")
    return None if value == "both" else value  # type: ignore[return-value]


def _answered(hosts: str, inventory: str, replay: str, *, opinion: bool) -> Answered:
    """What the hosts say, or what they said when the bundle `replay` was saved."""
    if replay:
        from launch.bundles import replayed

        return replayed(Path(replay), hosts or "all")
    from launch.probe import asked

    return asked(_hosts(hosts, inventory), opinion=opinion)


def _folders(recipes: str) -> Sequence[Path]:
    return [Path(recipes)] if recipes else []


@contextmanager
def _deployment(hosts: str, name: str, inventory: str) -> Iterator[tuple[Fleet, Deployment]]:
    from launch import operate

    listed = _listed(inventory)
    with Fleet(_selected(listed, hosts)) as fleet:
        yield fleet, operate.find(fleet, listed, request.deployment_name(name))[1]


def hosts_trust(*, hosts: str, inventory: str, replace: bool, yes: bool) -> ExitCode:
    from launch.trust import trust_hosts

    trust_hosts(_hosts(hosts, inventory), Report(), replace=replace, yes=yes)
    return ExitCode.DONE


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


def demo() -> ExitCode:
    from launch import demo as tour

    return tour.run(Report())
