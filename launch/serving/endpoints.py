"""Requests to the public endpoints of a deployment, asked on the serving hosts themselves: docs/adr/0008 says why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inventory.errors import BringupError, NotServing, raise_all
from inventory.quoting import quote, quote_all
from launch.serving.stored_command import StoredCommand, read_command
from playbooks.layout import Layout

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Completed, Transport
    from launch.building.generation import Generation

PROGRAM = Path(__file__).parents[1] / "programs" / "ask.py"
_END = "END_OF_PROGRAM"


@dataclass(frozen=True, slots=True)
class Reply:
    """What one endpoint answered: `status` and `body`, or `error` and None."""

    host: str
    url: str
    status: int | None
    body: str = ""
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status == 200

    @property
    def said(self) -> str:
        """The sentence of an error, as vLLM writes it, or the beginning of whatever came."""
        try:
            told = json.loads(self.body)
            return str(told.get("message") or told["error"]["message"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return self.error or f"HTTP {self.status}: {self.body[:200]}"


def ask(
    fleet: Fleet,
    gang: Generation,
    path: str,
    *,
    body: Mapping[str, Any] | None = None,
    timeout_s: float = 10.0,
    hosts: Sequence[str] = (),
) -> tuple[tuple[Reply, ...], dict[str, BringupError]]:
    """The reply of every public endpoint to GET, or with a `body` to POST; those of `hosts` only, if any are given.

    Also returns the errors of hosts that could not be asked: of their endpoints nothing is known.
    """
    asked = [one for one in gang.members if one.url and (not hosts or one.host in hosts)]

    def one(transport: Transport) -> tuple[Reply, ...]:
        member = gang.of(transport.host)
        folder = Layout(fleet.state_dirs[transport.host]).generation(gang.name, gang.generation)
        key_file = gang.key_file(folder)
        script = ask_script(member.python, member.urls, path, body=body, timeout_s=timeout_s, key_file=key_file)
        return read_replies(transport.host, member.urls, transport.run(script, timeout=timeout_s + 20))

    outcomes = fleet.each(one, [member.host for member in asked])
    lost = {host: outcome for host, outcome in outcomes.items() if isinstance(outcome, BringupError)}
    return tuple(reply for found in outcomes.values() if not isinstance(found, BringupError) for reply in found), lost


def every_reply(asked: tuple[tuple[Reply, ...], dict[str, BringupError]], gang: Generation) -> tuple[Reply, ...]:
    """The replies, when all came. Raises for a host that could not be asked and for an endpoint that refused."""
    replies, lost = asked
    raise_all(list(lost.values()))
    failed = next((one for one in replies if not one.ok), None)
    if failed:
        raise NotServing(
            "an endpoint does not answer",
            id="endpoint-silent",
            observed=f"{failed.url}: {failed.said}",
            required="an answer of every public endpoint",
            next_command=f"invoke status {gang.flags}",
            host=failed.host,
        )
    return replies


def stored_command(fleet: Fleet, gang: Generation, host: str) -> StoredCommand | None:
    """The command that the ranks of `host` were started with; None when the host does not tell."""

    def one(transport: Transport) -> StoredCommand | None:
        folder = Layout(fleet.state_dirs[transport.host]).generation(gang.name, gang.generation)
        try:
            return read_command(transport.get(f"{folder}/command.sh").decode(errors="replace"))
        except FileNotFoundError:
            return None

    found = fleet.each(one, [host])[host]
    return None if isinstance(found, BringupError) else found


def ask_script(
    python: str,
    urls: Sequence[str],
    path: str,
    *,
    body: Mapping[str, Any] | None,
    timeout_s: float,
    key_file: str,
) -> str:
    words = quote_all(["GET" if body is None else "POST", ",".join(urls), path, timeout_s, key_file])
    sent = quote(json.dumps(body)) if body is not None else "''"
    return f"printf %s {sent} | {{ env -i {quote(python)} - {words} 3<&0 <<'{_END}'\n{PROGRAM.read_text()}{_END}\n}}\n"


def read_replies(host: str, urls: Sequence[str], completed: Completed) -> tuple[Reply, ...]:
    """Read what the script printed; anything else is an error of every endpoint, that quotes it."""
    try:
        told = json.loads(completed.text)
        return tuple(
            Reply(host, url, one.get("status"), one.get("body", ""), one.get("error", ""))
            for url, one in zip(urls, told, strict=True)
        )
    except (ValueError, TypeError, AttributeError):
        seen = (completed.stderr or completed.stdout).decode(errors="replace").strip()[-200:]
        return tuple(Reply(host, url, None, error=f"the program said: {seen or 'nothing'}") for url in urls)
