"""What surrounds a deployment: its metrics, its clients, adapters that come and go."""

from __future__ import annotations

from pathlib import Path

from inventory.errors import ExitCode, raise_all
from launch import request
from launch.console.report import Report, print_json, print_lines, print_table
from launch.running.status import SURVEY_S
from launch.verbs import arguments

LOOK_S = 5.0
SCRAPE_S = 15


def metrics(*, hosts: str, name: str, inventory: str, seconds: str, json: bool) -> ExitCode:
    from launch.serving.load import load_rows, look

    between_s = request.seconds("seconds", seconds, LOOK_S)
    with arguments.deployment(hosts, name, inventory, within_s=SURVEY_S) as (fleet, found):
        if not json:
            Report().say(f"{found.gang.name}: two looks, {between_s:g} s apart")
        seen = look(fleet, found.gang, between_s, found.unanswered)
    if json:
        print_json("metrics", seen.loads)
    else:
        print_table(*load_rows(seen.loads))
        for line in seen.remarks(found.gang):
            Report().say(line, style="yellow")
    raise_all(list(seen.errors))
    return ExitCode.DONE


def metrics_export(
    *, hosts: str, name: str, inventory: str, output: str, scrape: str, ttft_p95: str, itl_p95: str
) -> ExitCode:
    from launch.serving.monitoring.alerts import Limits
    from launch.serving.monitoring.export import export, files

    limits = Limits(
        request.seconds("ttft-p95", ttft_p95, 1.0) if ttft_p95 else None,
        request.seconds("itl-p95", itl_p95, 1.0) if itl_p95 else None,
    )
    scrape_s = request.count("scrape", scrape, SCRAPE_S, 3600)
    with arguments.deployment(hosts, name, inventory) as (_, found):
        gang = found.gang
    written = export(Path(output or f"metrics-{gang.name}"), files(gang, limits, scrape_s=scrape_s))
    print_lines(str(path) for path in written)
    if not (ttft_p95 and itl_p95):
        Report().say("no alert on latency without a limit: --ttft-p95 SECONDS, --itl-p95 SECONDS")
    Report().say(f"next: prometheus --config.file={written[0]}, and import {written[-1].name} in Grafana")
    return ExitCode.DONE


def connect(*, hosts: str, name: str, inventory: str, client: str, json: bool) -> ExitCode:
    from launch.serving.clients import CLIENTS, remarks
    from launch.serving.connect import served

    request.known("client", request.required("client", client, next(iter(CLIENTS))), CLIENTS)
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        one = served(fleet, found.gang)
    said = remarks(client, one)
    if json:
        print_json("connect", {"client": client, "settings": CLIENTS[client](one), "remarks": said, "served": one})
        return ExitCode.DONE
    print_lines(CLIENTS[client](one).splitlines())
    for line in said:
        Report().say(line, style="yellow")
    return ExitCode.DONE


def lora_list(*, hosts: str, name: str, inventory: str, json: bool) -> ExitCode:
    from launch.serving.adapters import adapters

    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        known = adapters(fleet, found.gang)
    if json:
        print_json("adapters", known)
    else:
        print_table(("endpoint", "adapters"), [(url, ", ".join(names) or "none") for url, names in known.items()])
    return ExitCode.DONE


def lora_load(*, hosts: str, name: str, inventory: str, adapter: str) -> ExitCode:
    from launch.planned.lora import adapters_of
    from launch.serving.adapters import load

    wanted = adapters_of(request.required("adapter", adapter, "coder=/data/adapters/coder"))
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        for called, path in wanted.items():
            load(fleet, found.gang, called, path)
            Report().say(f"{called} is served: clients choose it by `model`", style="green")
    return ExitCode.DONE


def lora_unload(*, hosts: str, name: str, inventory: str, adapter: str) -> ExitCode:
    from launch.serving.adapters import unload

    names = request.names(request.required("adapter", adapter, "coder"))
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        for called in names:
            unload(fleet, found.gang, called)
            Report().say(f"{called} is unloaded", style="green")
    return ExitCode.DONE


def tokios_connect(*, hosts: str, name: str, inventory: str, token_file: str, connector: str) -> ExitCode:
    from launch.serving.tokios.connect import DEFAULT_CONNECTOR, connect, token_of

    token = token_of(Path(request.required("token-file", token_file, "~/tokios-token")).expanduser())
    program = request.absolute_path("connector", connector or DEFAULT_CONNECTOR, "the program on the head")
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        upstream = connect(fleet, found.gang, token, program)
        Report().say(f"{found.gang.name}: the tunnel stands; upstream {upstream}", style="green")
        Report().say("next: register the model in Tokios' dashboard, if it is not, and send requests to its gateway")
    return ExitCode.DONE


def tokios_disconnect(*, hosts: str, name: str, inventory: str) -> ExitCode:
    from launch.serving.tokios.connect import disconnect

    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        disconnect(fleet, found.gang)
        Report().say(f"{found.gang.name}: no connector is left, nor its token", style="green")
    return ExitCode.DONE
