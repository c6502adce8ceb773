"""What a deployment wrote and what was done with it: logs and history."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ExitCode, raise_all
from launch import request
from launch.console.outlet import has_reader
from launch.console.report import Report, print_json, print_lines, print_table, printable
from launch.running.status import SURVEY_S
from launch.verbs import arguments

if TYPE_CHECKING:
    from launch.building.generation import Generation
    from launch.running.logs import Told

DEFAULT_LINES = 50


def logs(*, hosts: str, name: str, inventory: str, lines: str, rank: str, since: str, **switches: bool) -> ExitCode:
    """`switches`: follow, nccl, json."""
    from launch.running import logs as reading

    wanted = reading.moment(since)
    number = request.count("lines", lines, reading.ALL_LINES if since else DEFAULT_LINES, reading.ALL_LINES)
    of_rank = request.count("rank", rank, 0, 9999, least=0) if rank else None
    # Other ranks' lines lie between, and lines without a time have that of one before them.
    asked = number if of_rank is None and wanted is None else reading.ALL_LINES
    with arguments.deployment(hosts, name, inventory, within_s=SURVEY_S) as (fleet, found):
        gang = found.gang
        members = [one.host for one in gang.members if of_rank is None or one.has_rank(of_rank)]
        refuse_rank_unknown(gang, of_rank, members)
        told = reading.ask(fleet, gang, [one for one in members if one not in found.unanswered], asked)
        answered = {host: log for host, log in told.items() if not isinstance(log, BringupError)}
        merged = reading.merged(answered, since=wanted, rank=of_rank)
        merged = reading.last(merged, number)
        if switches["json"] and not switches["follow"]:
            print_json("logs", [_as_data(one) for one in merged])
        else:
            for head in reading.heads(answered):
                Report().say(head)
            _print(merged, **switches)
        if switches["follow"]:
            sys.stdout.flush()
            for one in reading.follow(fleet, gang, answered, of_rank, until=lambda: not has_reader()):
                _print([one], **switches)
                sys.stdout.flush()
        lost = {**{host: error for host, error in found.unanswered.items() if host in members}, **told}
        raise_all([error for error in lost.values() if isinstance(error, BringupError)])
    return ExitCode.DONE


def _print(told: Sequence[Told], *, json: bool, nccl: bool, **_: bool) -> None:
    """Of what goes on for ever each line is a document of its own."""
    from launch.running.logs import shown

    if json:
        for one in told:
            print_json("log", _as_data(one), line=True)
    else:
        print_lines(printable(line) for line in shown(told, chatter=nccl))


def _as_data(one: Told) -> dict[str, object]:
    return {"host": one.host, "at": one.line.at, "line": one.line.raw}


def refuse_rank_unknown(gang: Generation, rank: int | None, members: list[str]) -> None:
    if not members:
        ranks = sum(one.ranks for one in gang.members)
        raise request.refused("rank", str(rank), f"a data-parallel rank of {gang.name}: 0 to {ranks - 1}")


def history(*, hosts: str, name: str, inventory: str, json: bool) -> ExitCode:
    """Who did what, when, and what it changed."""
    from launch.running import chronicle

    with arguments.deployment(hosts, name, inventory, latest=True, within_s=SURVEY_S) as (fleet, found):
        told = chronicle.ask(fleet, found)
    if json:
        print_json("history", told.events)
    else:
        print_table(*chronicle.rows(told.events))
    raise_all(list(told.errors.values()))
    return ExitCode.DONE
