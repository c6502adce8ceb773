"""What hosts are: asked now or read from a bundle, kept as a bundle, compared with an older one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BadInput, BringupError, HostUnreachable
from inventory.facts import saved
from inventory.facts.gather import SECTIONS
from inventory.facts.redact import Redactor
from inventory.fleet import Fleet
from inventory.schema import Host, Inventory
from launch.facts_diff import Difference, differences
from launch.facts_table import fact_rows
from launch.facts_tree import draw, tree
from launch.gather import Answered, ask_all
from launch.remarks import remarks
from launch.report import Report, print_json, print_lines, print_table
from launch.request import refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inventory.facts.host import HostFacts
    from inventory.facts.raw import RawAnswer


def asked(hosts: Sequence[Host], *, opinion: bool) -> Answered:
    """Ask the hosts themselves; `opinion`: psutil and py-cpuinfo too, which takes two seconds more."""
    with Fleet(hosts) as fleet:
        return ask_all(fleet, opinion=opinion)


def replayed(folder: Path, selection: str) -> Answered:
    """The hosts of a bundle that `selection` names, as they answered then. Raises `BadInput`."""
    bundle = saved.load(folder)
    listed = Inventory(hosts=_hosts(bundle), mentions=lambda _: True)  # what is not listed is refused below
    chosen = listed.resolve(selection)
    strangers = [host.name for host in chosen if host.name not in (*bundle.answers, *bundle.head.silent)]
    if strangers:
        raise BadInput(
            f"{', '.join(strangers)} is not in the bundle",
            id="bundle",
            observed=f"--hosts {selection}",
            required=f"hosts of {folder}: {', '.join((*bundle.answers, *bundle.head.silent))}",
            next_command=f"invoke probe --replay {folder}",
        )
    return Answered(
        hosts={host.name: host for host in chosen},
        raw={host.name: bundle.answers[host.name] for host in chosen if host.name in bundle.answers},
        errors={
            host.name: HostUnreachable(**dict(bundle.head.silent[host.name]), host=host.name)
            for host in chosen
            if host.name in bundle.head.silent
        },
    )


def _hosts(bundle: saved.Bundle) -> dict[str, Host]:
    places = {host: dict(place) for host, place in bundle.places.items()}
    silent: dict[str, dict[str, str]] = {host: {} for host in bundle.head.silent}
    return {host: Host(name=host, **said) for host, said in (places | silent).items()}


def save(folder: Path, answered: Answered, *, raw: bool) -> None:
    """Write a bundle at `folder`; `raw`: with MACs, serials, UUIDs and tokens in it."""
    redactor = Redactor()
    answers = {host: one if raw else redactor.answer(one) for host, one in answered.raw.items()}
    head = saved.Head(
        made_at=_made_at(answered.raw),
        redacted=not raw,
        sections=tuple(name for name, _ in SECTIONS if _was_asked(name, answered.raw)),
        hosts=tuple(answers),
        silent={host: _silent(error) for host, error in answered.errors.items()},
    )
    saved.save(folder, saved.Bundle(head, answers, {host: _place(answered.hosts[host]) for host in answers}))


def _was_asked(section: str, raw: Mapping[str, RawAnswer]) -> bool:
    """An older bundle that is saved again was not asked all of today's sections."""
    whole = [one.answers.files for one in raw.values() if not one.answers.fault]
    return all(f"{section}.end.err" in files or f"{section}.end" in files for files in whole)


def _made_at(raw: Mapping[str, RawAnswer]) -> str:
    last = max((one.received_at for one in raw.values()), default=0.0)
    return datetime.fromtimestamp(last, UTC).isoformat(timespec="seconds")


def _silent(error: BringupError) -> saved.Silent:
    return saved.Silent(
        message=error.message,
        id=error.id,
        observed=error.observed,
        required=error.required,
        next_command=error.next_command,
    )


def _place(host: Host) -> saved.Place:
    return saved.Place.model_validate({name: getattr(host, name) for name in saved.Place.model_fields})


def changes(folder: Path, answered: Answered) -> tuple[Difference, ...]:
    """What changed on the hosts of `answered` since the bundle at `folder` was made."""
    bundle = saved.load(folder)
    # UUIDs of a redacted bundle can be compared with redacted ones only; redacting twice changes nothing.
    redactor = Redactor() if bundle.head.redacted else None
    before = {host: one.facts() for host, one in bundle.answers.items() if host in answered.hosts}
    now = {host: (redactor.answer(one) if redactor else one).facts() for host, one in answered.raw.items()}
    return differences(before, now, answered.errors)


def document(answered: Answered, facts: Mapping[str, HostFacts]) -> dict[str, object]:
    """What `--json` prints (docs/reference/facts.md)."""
    return {
        "hosts": facts,
        "findings": {host: remarks(one) for host, one in facts.items()},
        "errors": {host: _silent(error).model_dump() for host, error in answered.errors.items()},
    }


def detail(answered: Answered, facts: Mapping[str, HostFacts]) -> Iterator[str]:
    """The tree of each host, and a line for each that did not answer."""
    for host in answered.hosts:
        if host in facts:
            yield from draw(tree(facts[host]))
        else:
            error = answered.errors[host]
            yield f"{host}: no answer: {error.message}" + (f" ({error.observed})" if error.observed else "")


def refuse_flags(*, save_at: str, raw: bool, diff: str, host_detail: bool) -> None:
    """Raise `BadInput` for flags that do not go together, and for a place that takes no bundle."""
    if raw and not save_at:
        raise refused("raw", "", "--save DIR, whose content it decides")
    if diff and host_detail:
        raise refused("host-detail", "", "one of --host-detail and --diff")
    if save_at:
        saved.refuse_taken(Path(save_at))


def show(answered: Answered, *, host_detail: bool, diff: str, json: bool) -> None:
    """Print what was asked for on stdout."""
    if diff:
        _show_changes(changes(Path(diff), answered), json=json)
        return
    facts = answered.facts()
    if json:
        print_json("facts", document(answered, facts))
    elif host_detail:
        print_lines(detail(answered, facts))
    else:
        print_table(*fact_rows(answered, facts), one_line=True)


def _show_changes(found: Sequence[Difference], *, json: bool) -> None:
    if json:
        print_json("changes", found)
    elif found:
        print_lines(map(str, found))
    else:
        Report().say("nothing changed", style="green")
