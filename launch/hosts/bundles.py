"""Bundles of answers: kept, read instead of asking hosts, and compared with what hosts say now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BadInput, HostUnreachable
from inventory.facts import saved
from inventory.facts.gather import SECTIONS
from inventory.facts.redact import Redactor
from inventory.schema import Host, Inventory
from launch.hosts.facts_diff import Difference, differences
from launch.hosts.gather import Answered, parts
from launch.hosts.pasted import are_pasted, load_pasted

if TYPE_CHECKING:
    from inventory.facts.raw import RawAnswer


def replayed(folder: Path, selection: str) -> Answered:
    """The hosts of a bundle that `selection` names, as they answered then. Raises `BadInput`.

    A folder of texts that people sent counts as one: see `launch.hosts.pasted`.
    """
    if are_pasted(folder):
        told = load_pasted(folder)
        hosts = _chosen({name: Host(name=name) for name in told}, selection, folder)
        return Answered(
            hosts={host.name: host for host in hosts},
            raw={},
            errors={},
            pasted={host.name: told[host.name] for host in hosts},
        )
    bundle = saved.load(folder)
    chosen = _chosen(_hosts(bundle), selection, folder)
    return Answered(
        hosts={host.name: host for host in chosen},
        raw={host.name: bundle.answers[host.name] for host in chosen if host.name in bundle.answers},
        errors={
            host.name: HostUnreachable(**dict(bundle.head.silent[host.name]), host=host.name)
            for host in chosen
            if host.name in bundle.head.silent
        },
    )


def _chosen(hosts: Mapping[str, Host], selection: str, folder: Path) -> tuple[Host, ...]:
    listed = Inventory(hosts=dict(hosts), mentions=lambda _: True)  # what is not listed is refused below
    chosen = listed.resolve(selection)
    strangers = [host.name for host in chosen if host.name not in hosts]
    if strangers:
        raise BadInput(
            f"{', '.join(strangers)} is not in the bundle",
            id="bundle",
            observed=f"--hosts {selection}",
            required=f"hosts of {folder}: {', '.join(hosts)}",
            next_command=f"invoke probe --replay {folder}",
        )
    return chosen


def _hosts(bundle: saved.Bundle) -> dict[str, Host]:
    places = {host: dict(place) for host, place in bundle.places.items()}
    return {host: Host(name=host, **places.get(host, {})) for host in bundle.head.hosts}


def save(folder: Path, answered: Answered, *, raw: bool) -> None:
    """Write a bundle at `folder`; `raw`: with MACs, serials, UUIDs and tokens in it."""
    if answered.pasted:
        raise BadInput(
            "what was sent as texts is not saved as a bundle",
            id="bundle",
            observed="texts that were sent, not answers of hosts",
            required="answers of hosts, for --save",
            next_command="invoke probe --hosts HOSTS --save DIR",
        )
    redactor = Redactor()
    answers = {host: one if raw else redactor.answer(one) for host, one in answered.raw.items()}
    head = saved.Head(
        made_at=_made_at(answered.raw),
        redacted=not raw,
        sections=tuple(name for name, _ in SECTIONS if _was_asked(name, answered.raw)),
        hosts=tuple(answered.hosts),
        silent={host: saved.Silent(**parts(error)) for host, error in answered.errors.items()},
    )
    saved.save(folder, saved.Bundle(head, answers, {host: _place(answered.hosts[host]) for host in answers}))


def _was_asked(section: str, raw: Mapping[str, RawAnswer]) -> bool:
    """An older bundle that is saved again was not asked all of today's sections."""
    whole = [one.answers.files for one in raw.values() if not one.answers.fault]
    return all(f"{section}.end.err" in files or f"{section}.end" in files for files in whole)


def _made_at(raw: Mapping[str, RawAnswer]) -> str:
    last = max((one.received_at for one in raw.values()), default=0.0)
    return datetime.fromtimestamp(last, UTC).isoformat(timespec="seconds")


def _place(host: Host) -> saved.Place:
    return saved.Place.model_validate({name: getattr(host, name) for name in saved.Place.model_fields})


def changes(folder: Path, answered: Answered) -> tuple[Difference, ...]:
    """What changed on the hosts of `answered` since the bundle at `folder` was made."""
    bundle = saved.load(folder)
    # UUIDs of a redacted bundle can be compared with redacted ones only; redacting twice changes nothing.
    redactor = Redactor() if bundle.head.redacted else None
    before = {host: one.facts() for host, one in bundle.answers.items() if host in answered.hosts}
    now = {host: (redactor.answer(one) if redactor else one).facts() for host, one in answered.raw.items()}
    now |= answered.pasted
    return differences(before, now, answered.errors)
