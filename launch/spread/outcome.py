"""How the spread of a folder ended on each host, and as what an operator is told it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from inventory.errors import BringupError, ChangeFailed, HostUnreachable
from inventory.quoting import quote
from launch.spread.told import BadPiece, Told

REASONS = {
    "spread-space": ("the disk has no room for the folder", "room for all files of the manifest"),
    "spread-disk": ("the host cannot read or write the folder", "a folder that the login user may write"),
    "spread-address": ("the host cannot lend at the address of the plan", "an address of an interface that is up"),
    "spread-starved": ("no other host gives what is missing", "one host that has it and can be reached"),
    "spread-bad-data": (
        "a file comes with another sum, whoever gives it",
        "a source whose copy is that of the manifest",
    ),
    "spread-python": ("the host has no Python that can run the spread", "python3, 3.8 or later, or rsync"),
    "spread-lost": ("the process on the host ended without a word, again and again", "a process that stays"),
    "spread-program": ("the program on the host failed", "an answer that can be read"),
}
NEXT = {
    "spread-space": "on the host: df -h {folder}",
    "spread-disk": "on the host: ls -la {folder}",
    "spread-address": "invoke probe --hosts {host}, or set its fabric_interface in the inventory",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """`verified`: every file has its size and sum there, and the manifest is written. Else `error` says why not.

    `received`, `sent`: bytes by peer. `bad`: what peers gave wrong, found and fetched again. `bad_here`: files that lay
    there whole and had another sum. `seconds`: from the beginning of the spread.
    """

    host: str
    verified: bool
    seconds: float
    error: BringupError | None = None
    received: Mapping[str, int] = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)
    bad: tuple[BadPiece, ...] = ()
    bad_here: tuple[str, ...] = ()
    cpu_s: float = 0.0  # of the program on this host


def outcome_of(host: str, told: Told, seconds: float, error: BringupError | None = None) -> Outcome:
    verified = told.sealed and error is None
    return Outcome(host, verified, seconds, error, told.received, told.sent, told.bad, told.bad_here, told.cpu_s)


def refusal(reason: str, observed: str, host: str, folder: str) -> ChangeFailed:
    """The error for a reason that a host gave; what it says is not trusted to be one that we know."""
    name = reason if reason in REASONS else "spread-program"
    message, required = REASONS[name]
    following = NEXT.get(name, "the same command again: it goes on from what is there")
    return ChangeFailed(
        message,
        id=name,
        observed=observed,
        required=required,
        next_command=following.format(folder=quote(folder), host=quote(host)),
        host=host,
    )


def unanswered(host: str, error: BringupError, told: Told) -> HostUnreachable:
    """The login is gone for long: what the host has by now is unknown."""
    return HostUnreachable(
        "the host does not answer any more while a folder is spread: what it has is unknown",
        id="spread-unreachable",
        observed=f"{told.verified / 1e9:.2f} GB when it last answered; {error.observed}",
        required="a login",
        next_command=f"invoke probe --hosts {quote(host)}, then the same command again: it goes on from what is there",
        host=host,
    )
