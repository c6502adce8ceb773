"""Connect a deployment to Tokios' gateway, and disconnect it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BadInput, BringupError, ChangeFailed, CheckFailed
from inventory.secret import Secret
from launch.running.supervise import preamble
from launch.serving.tokios.unit import WAIT_S, Connector, connect_script, disconnect_script
from playbooks.layout import Layout

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Completed, Transport
    from launch.building.generation import Generation

DEFAULT_CONNECTOR = "/usr/local/bin/tokios-connector"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=:-]{8,4096}")
NO_SYSTEMD, NO_PROGRAM = 3, 4
_END = "END_OF_SCRIPT"


def token_of(path: Path) -> Secret:
    """The token of a file on the control machine. Raises `BadInput` when it holds none."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise _no_token(path, f"{type(error).__name__}: the file cannot be read") from None
    if not _TOKEN.fullmatch(text):
        raise _no_token(path, "what it holds is no token")
    return Secret(text)


def connect(fleet: Fleet, gang: Generation, token: Secret, program: str) -> str:
    """Put the connector in place on the head and wait for its tunnel; returns the upstream that it serves.

    Raises `CheckFailed` when the deployment asks for a key, which the connector has no setting for.
    """
    head = gang.members[0].host
    if gang.asks_key:
        raise CheckFailed(
            "the connector cannot send the key that this deployment asks for; nothing was changed",
            id="tokios-key",
            observed=f"{gang.name} asks every client for a key",
            required="a deployment without --api-key: the gateway asks for keys of its own",
            next_command=f"the deploy command that made {gang.name}, without --api-key",
            host=head,
        )

    def one(transport: Transport) -> Completed:
        connector = _connector(fleet, gang, program)
        transport.put(f"{token.reveal()}\n".encode(), connector.token_file, mode=0o600)
        return transport.run(_by_root(fleet, transport, connect_script(connector)), timeout=WAIT_S + 40)

    done = fleet.on(head, one)
    if done.exit_status != 0:
        raise _failed(gang, head, program, done)
    return gang.members[0].urls[0]


def disconnect(fleet: Fleet, gang: Generation) -> None:
    """Stop and remove the connector. Raises `ChangeFailed` when it goes on."""
    head = gang.members[0].host

    def one(transport: Transport) -> Completed:
        script = disconnect_script(_connector(fleet, gang, DEFAULT_CONNECTOR))
        return transport.run(_by_root(fleet, transport, script), timeout=60)

    done = fleet.on(head, one)
    if done.exit_status != 0:
        raise _failed(gang, head, DEFAULT_CONNECTOR, done)


def _connector(fleet: Fleet, gang: Generation, program: str) -> Connector:
    return Connector(gang.name, program, Layout(fleet.state_dirs[gang.members[0].host]).deployment(gang.name))


def _by_root(fleet: Fleet, transport: Transport, script: str) -> str:
    """The same script with the rights that units need, in one round trip whoever logs in."""
    return f"{preamble(fleet.state_dirs[transport.host])}\nas_root /bin/sh -s <<'{_END}'\n{script}{_END}\n"


def _failed(gang: Generation, head: str, program: str, done: Completed) -> BringupError:
    said = done.stderr.decode(errors="replace").strip()[-600:].replace("\n", "\n    ")
    if done.exit_status == NO_SYSTEMD:
        return CheckFailed(
            "the connector needs systemd, as the ranks that it goes with",
            id="no-systemd",
            observed=f"{head} runs the ranks as plain processes",
            required="a head with systemd as its first process",
            next_command=f"run it by hand on {head}: {program} --config tokios.json",
            host=head,
        )
    if done.exit_status == NO_PROGRAM:
        return CheckFailed(
            "the connector is not on the head",
            id="tokios-missing",
            observed=f"{program} is no program there",
            required="the connector that Tokios gives out for Linux, on the head",
            next_command=f"the same command with --connector PATH, when it is on {head}",
            host=head,
        )
    return ChangeFailed(
        "the tunnel to Tokios does not stand",
        id="tokios-failed",
        observed=said or f"exit status {done.exit_status}",
        required=f"a connector that stays up and says that its tunnel is established within {WAIT_S} s",
        next_command=f"on {head}: journalctl --unit bringup-{gang.name}-tokios",
        host=head,
    )


def _no_token(path: Path, observed: str) -> BadInput:
    return BadInput(
        "--token-file cannot be used",
        id="flag-value",
        observed=f"{path}: {observed}",
        required="a file with the tunnel token that Tokios' dashboard shows",
        next_command="the same command with another --token-file",
    )
