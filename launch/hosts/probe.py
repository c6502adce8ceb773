"""What hosts are: asked, and shown in one of four ways.

What reads the answers and what draws them is imported after the hosts were asked: they should not wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.fleet import Fleet
from launch.console.report import Report, print_json, print_lines, print_table
from launch.hosts.gather import Answered, ask_all, parts
from launch.request import refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inventory.facts.host import HostFacts
    from inventory.schema import Host

READERS = ("inventory.facts.raw",)
DRAWERS = ("launch.hosts.facts_table", "rich.table")


def asked(hosts: Sequence[Host], *, opinion: bool, drawn: bool = True) -> Answered:
    """Ask the hosts themselves; `opinion`: psutil and py-cpuinfo too, which takes two seconds more.

    `drawn`: what they say is to be shown to people, which takes libraries that `--json` does without.
    """
    later = (*READERS, *DRAWERS) if drawn else READERS
    meanwhile = threading.Thread(target=lambda: [import_module(name) for name in later], daemon=True)
    with Fleet(hosts, brief=not opinion) as fleet:
        meanwhile.start()
        return ask_all(fleet, opinion=opinion)


def document(answered: Answered, facts: Mapping[str, HostFacts]) -> dict[str, object]:
    """What `--json` prints (docs/reference/facts.md)."""
    from launch.hosts.remarks import remarks

    return {
        "hosts": facts,
        "findings": {host: remarks(one) for host, one in facts.items()},
        "errors": {host: parts(error) for host, error in answered.errors.items()},
    }


def detail(answered: Answered, facts: Mapping[str, HostFacts]) -> Iterator[str]:
    """The tree of each host, and a line for each that did not answer."""
    from launch.console.tree import draw
    from launch.hosts.facts_tree import tree

    for host in answered.hosts:
        if host in facts:
            yield from draw(tree(facts[host]))
        else:
            error = answered.errors[host]
            yield f"{host}: no answer: {error.message}" + (f" ({error.observed})" if error.observed else "")


def refuse_flags(*, save_at: str, raw: bool, diff: str, host_detail: bool) -> None:
    """Raise `BadInput` for flags that do not go together, and for a place that takes no bundle."""
    if raw and not save_at:
        raise refused("raw", "", "--save DIR, whose content it decides", instead="with --save DIR")
    if diff and host_detail:
        raise refused("host-detail", "", "one of --host-detail and --diff")
    if save_at:
        from inventory.facts.saved import refuse_taken

        refuse_taken(Path(save_at))


def show(answered: Answered, *, host_detail: bool, json: bool) -> None:
    """Print what was asked for on stdout."""
    facts = answered.facts()
    if json:
        print_json("facts", document(answered, facts))
    elif host_detail:
        print_lines(detail(answered, facts))
    else:
        from launch.hosts.facts_table import fact_rows

        print_table(*fact_rows(answered, facts), one_line=True)


def keep(folder: Path, answered: Answered, *, raw: bool) -> None:
    """Write a bundle at `folder`; `raw`: with MACs, serials, UUIDs and tokens in it."""
    from launch.hosts.bundles import save

    save(folder, answered, raw=raw)


def show_changes(folder: Path, answered: Answered, *, json: bool) -> None:
    """Print what changed since the bundle at `folder` was saved."""
    from launch.hosts.bundles import changes

    found = changes(folder, answered)
    if json:
        print_json("changes", found)
    elif found:
        print_lines(map(str, found))
    else:
        Report().say("nothing changed", style="green")
