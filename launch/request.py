"""What an operator asked for, checked: the flags of a verb as values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from inventory.errors import BadInput
from launch.planned.wanted import NOTHING, Wanted

if TYPE_CHECKING:
    from launch.choosing.settings import Setting
    from launch.recovery.guard import Supervision

DEFAULT_HTTP_PORT = 8000
DEFAULT_RPC_PORT = 13345
DEFAULT_READY_TIMEOUT_S = 1800.0
BALANCINGS = ("internal", "hybrid", "external")
_COMMIT = re.compile(r"[0-9a-f]{40}")
GENERATION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,63}")
NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,46}[a-z0-9])?")
_NAMED_BY = {"model": "invoke recipes.list", "hosts": "invoke hosts.list"}
"""What names the values that a flag can have."""


@dataclass(frozen=True, slots=True)
class Request:
    """A deployment as asked for; None: to be decided. `overrides` maps check ids to the reason.

    `features`: to switch on, `name` or `name=mode`. `revision`: the commit of the weights, 40 hexadecimal digits.
    `nodes`: how many of the hosts; None: all. `hardware`: what they must be. `settings`: options over the recipe's.
    `image_digest` (sha256:...), `image_archive` (a file here): of a model that runs from an image.
    """

    model: str
    name: str | None = None
    variant: str | None = None
    strategy: str | None = None
    load_balancing: str | None = None
    features: tuple[str, ...] = ()
    no_features: tuple[str, ...] = ()
    revision: str | None = None
    nodes: int | None = None
    hardware: str | None = None
    settings: tuple[Setting, ...] = ()
    wanted: Wanted = NOTHING
    image_digest: str | None = None
    image_archive: Path | None = None
    http_port: int = DEFAULT_HTTP_PORT
    rpc_port: int = DEFAULT_RPC_PORT
    ready_timeout_s: float = DEFAULT_READY_TIMEOUT_S
    rollback_on_failure: bool = False
    supervision: Supervision | None = None
    accept_unknown: frozenset[str] = frozenset()
    overrides: Mapping[str, str] = field(default_factory=dict)


def required(flag: str, value: str, example: str) -> str:
    """The value of a flag that must be given."""
    if not value.strip():
        raise BadInput(
            f"--{flag} is missing",
            id="flag-missing",
            observed=f'--{flag} "{value}"',
            required=f"a value, such as {example}",
            next_command=_NAMED_BY.get(flag, f"the same command with --{flag} {example}"),
        )
    return value.strip()


def port(flag: str, value: str, default: int) -> int:
    """A TCP port, or `default` when the flag is not given."""
    number = _number(flag, value, default, "a TCP port, 1 to 65535")
    if not 1 <= number <= 65535 or number != int(number):
        raise refused(flag, value, "a TCP port, 1 to 65535")
    return int(number)


def seconds(flag: str, value: str, default: float) -> float:
    number = _number(flag, value, default, "seconds, more than 0")
    if number <= 0:
        raise refused(flag, value, "seconds, more than 0")
    return number


def count(flag: str, value: str, default: int, most: int, *, least: int = 1) -> int:
    what = f"a whole number, {least} to {most}"
    number = _number(flag, value, default, what)
    if not least <= number <= most or number != int(number):
        raise refused(flag, value, what)
    return int(number)


def ids(value: str) -> frozenset[str]:
    """Ids separated by commas."""
    return frozenset(part for part in re.split(r"[,\s]+", value) if part)


def names(value: str) -> tuple[str, ...]:
    """Names separated by commas, each once, in their order."""
    return tuple(dict.fromkeys(part for part in re.split(r"[,\s]+", value) if part))


def commit(flag: str, value: str) -> str | None:
    """A commit in full: a branch or tag can move between two hosts' downloads. None when it is not given."""
    if value and not _COMMIT.fullmatch(value.lower()):
        raise refused(flag, value, "a commit of 40 hexadecimal digits, as the model's page on the hub shows it")
    return value.lower() or None


def generation(value: str) -> str:
    """A generation, as `history` shows it; empty when it is not given."""
    if value and not GENERATION.fullmatch(value):
        raise refused("to", value, "a generation, as invoke history shows it")
    return value


def overrides(value: str, because: str) -> dict[str, str]:
    """Check ids to override, each with the same reason."""
    wanted = sorted(ids(value))
    return dict.fromkeys(wanted, required("because", because, "'why it may fail'")) if wanted else {}


def absolute_path(flag: str, value: str, what: str) -> str:
    """A path on a host."""
    if not PurePosixPath(value).is_absolute() or not value.isprintable():
        raise refused(flag, value, f"an absolute path: {what}")
    return value


def deployment_name(value: str) -> str | None:
    """A name that is safe as a folder and in a unit's name; None when it is not given."""
    if value and not NAME.fullmatch(value):
        raise refused("name", value, "lower-case letters, digits, '.' and '-', at most 48, not at the ends")
    return value or None


def load_balancing(value: str) -> str | None:
    """How ranks are reached, None: as the strategy has it."""
    if value not in {"", *BALANCINGS}:
        raise refused("load-balancing", value, f"one of {', '.join(BALANCINGS)}")
    return value or None


def known(flag: str, value: str, among: Mapping[str, object]) -> None:
    """Refuse a flag's value that is not `among` those that exist."""
    if value not in among:
        raise BadInput(
            f"there is no {flag} {value}",
            id=f"{flag}-unknown",
            observed=f"--{flag} {value}",
            required=f"one of {', '.join(among)}",
            next_command=f"the same command with another --{flag}",
        )


def _number(flag: str, value: str, default: float, what: str) -> float:
    if not value:
        return default
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,3})?", value):
        raise refused(flag, value, what)
    return float(value)


def refused(flag: str, value: str, what: str, *, instead: str = "") -> BadInput:
    """What is wrong with a flag; a switch has no `value`. `instead`: the same command, but how."""
    usual = f"with another --{flag}" if value else f"without --{flag}"
    return BadInput(
        f"--{flag} cannot be used",
        id="flag-value",
        observed=f'--{flag} "{value}"' if value else f"--{flag}",
        required=what,
        next_command=f"the same command {instead or usual}",
    )
