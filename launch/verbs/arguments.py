"""The flags that many verbs share: which hosts, which recipes, which deployment, which launch.

What reads inventories is imported where one is read: a verb that works from a bundle should not wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from inventory.errors import raise_all
from inventory.quoting import quote
from launch import request
from launch.console.report import Report

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.schema import Host, Inventory
    from launch.catalogue.find import Catalogue, Found
    from launch.hosts.gather import Answered
    from launch.recovery.guard import Supervision
    from launch.request import Request
    from launch.running.survey import Deployment


def launch_request(model: str, **flags: str) -> Request:
    from launch.choosing.settings import settings
    from launch.verbs.planned import planned_settings, wanted
    from playbooks.images.reference import parse_digest

    return request.Request(
        model=request.required("model", model, "deepseek-v4-pro"),
        name=request.deployment_name(flags["name"]),
        variant=flags["variant"] or None,
        strategy=flags["strategy"] or None,
        load_balancing=request.load_balancing(flags["load_balancing"]),
        features=request.names(flags["feature"]),
        no_features=request.names(flags["no_feature"]),
        revision=request.commit("revision", flags["revision"]),
        nodes=request.count("nodes", flags["nodes"], 1, 999) if flags["nodes"] else None,
        hardware=flags.get("hardware") or None,
        settings=(*planned_settings(flags), *settings(flags["set"])),
        wanted=wanted(flags, model),
        http_port=request.port("port", flags["port"], request.DEFAULT_HTTP_PORT),
        rpc_port=request.port("rpc-port", flags["rpc_port"], request.DEFAULT_RPC_PORT),
        ready_timeout_s=request.seconds("timeout", flags.get("timeout", ""), request.DEFAULT_READY_TIMEOUT_S),
        accept_unknown=request.ids(flags.get("accept_unknown", "")),
        overrides=request.overrides(flags.get("override", ""), flags.get("because", "")),
        image_digest=parse_digest(flags["image_digest"]) if flags.get("image_digest") else None,
        image_archive=Path(flags["image_archive"]).expanduser() if flags.get("image_archive") else None,
    )


def supervision(wanted: Request, alert: str, *, asked: bool) -> Supervision | None:
    """What is to guard the group; None: nothing. Raises `BadInput` for a command that nobody would run."""
    from launch.planned.api_key import guard_key
    from launch.recovery.guard import Supervision, alert_words

    if not asked:
        if alert:
            needs = "--supervise beside it: the guard of the group runs it"
            raise request.refused("alert", alert, needs, instead="with --supervise")
        return None
    return Supervision(guard_key(wanted.name or wanted.model.rpartition("/")[2].lower()), alert_words(alert))


def inventory_file(path: str) -> Path | None:
    """The inventory of the flag, the variable, the lab that `lab.up` made, or the default (None): in that order."""
    from inventory.load import VARIABLE

    if path or os.environ.get(VARIABLE):
        return Path(path) if path else None
    from inventory.lab.lifecycle import labs
    from inventory.lab.state import DEFAULT

    return next((lab.inventory for lab, _ in labs() if lab.name == DEFAULT and lab.survived), None)


def inventory_of(path: str) -> Inventory:
    from inventory.load import load

    listed = load(inventory_file(path))
    for warning in listed.warnings:
        Report().say(f"inventory: {warning}", style="yellow")
    return listed


def chosen_hosts(selection: str, inventory: str) -> tuple[Host, ...]:
    return selected(inventory_of(inventory), selection)


def selected(listed: Inventory, selection: str) -> tuple[Host, ...]:
    """The hosts; `all` of an inventory that lists none is this machine, where the embedded trial runs."""
    wanted = request.required("hosts", selection, "tray1,tray2")
    return listed.resolve("local" if wanted == "all" and not listed.hosts else wanted)


def hidden(hosts: Sequence[Host], asked: Request) -> set[str]:
    """What no output may show: passwords in addresses, and the key that clients send, in every form."""
    keys = [asked.wanted.api_key, asked.supervision.key if asked.supervision else None]
    return passwords(hosts).union(*(key.shown_as for key in keys if key))


def passwords(hosts: Sequence[Host]) -> set[str]:
    """The user:password parts of mirror and proxy addresses; of repositories also passwords alone, as apt has them."""
    urls = (
        url
        for host in hosts
        for url in (
            *(host.mirrors.pypi, host.mirrors.torch, host.mirrors.python, host.mirrors.hub, host.proxy),
            *(one.url for one in host.mirrors.repositories.values()),
        )
        if url
    )
    parts = (urlsplit(url.reveal()).netloc.rpartition("@") for url in urls)
    return {user for user, at, _ in parts if at} | set(_repository_passwords(hosts))


def _repository_passwords(hosts: Sequence[Host]) -> Iterator[str]:
    """As they are, and as they stand in a script."""
    from playbooks.repositories.source import without_login

    for one in (one for host in hosts for one in host.mirrors.repositories.values()):
        _, login = without_login(one.url)
        if login and login.password.reveal():
            yield login.password.reveal()
            yield quote(login.password.reveal()).strip("'")


def answered(hosts: str, inventory: str, replay: str, *, opinion: bool, drawn: bool = True) -> Answered:
    """What the hosts say, or what they said when the bundle `replay` was saved."""
    if replay:
        from launch.hosts.bundles import replayed

        return replayed(Path(replay), hosts or "all")
    from launch.hosts.probe import asked

    return asked(chosen_hosts(hosts, inventory), opinion=opinion, drawn=drawn)


def all_answered(report: Report, hosts: str, inventory: str, replay: str) -> Answered:
    """The same of a launch's hosts, none of which may be missing. Raises what those said that did not answer."""
    with report.phase("Gather"):
        found = answered(hosts, inventory, replay, opinion=False)
        raise_all(list(found.errors.values()))
    return found


def catalogue(recipes: str, *, ours: bool = True) -> Catalogue:
    """The recipes of the flag's checkout, and `ours` beside them."""
    from launch.catalogue.find import Catalogue

    return Catalogue.of([Path(recipes)] if recipes else [], ours=ours)


def recipe(recipes: str, model: str) -> Found:
    return catalogue(recipes).find(request.required("model", model, "deepseek-v4-pro"))


@contextmanager
def deployment(
    hosts: str, name: str, inventory: str, *, latest: bool = False, within_s: float | None = None
) -> Iterator[tuple[Fleet, Deployment]]:
    from inventory.fleet import Fleet
    from launch.running import operate

    listed = inventory_of(inventory)
    with Fleet(selected(listed, hosts)) as fleet:
        asked = request.deployment_name(name)
        yield fleet, operate.find(fleet, listed, asked, latest=latest, within_s=within_s)[1]
