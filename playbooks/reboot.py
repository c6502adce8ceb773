"""Restart hosts, one after the other, and wait until each is there again: another boot id is the only proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ChangeFailed, ChangesPending
from inventory.fleet import Fleet
from inventory.quoting import quote
from inventory.transport.exchange import in_time

if TYPE_CHECKING:
    from inventory.schema import Host
    from inventory.transport.base import Transport

DEADLINE_S = 1800.0
EVERY_S = 3.0
ASK_S = 20.0
BOOT_ID = "cat /proc/sys/kernel/random/boot_id"
# Behind our back, so that the answer of this script still comes.
RESTART = """
if [ "$(id -u)" = 0 ]; then root=; else root='sudo -n'; fi
$root true || exit 1
setsid /bin/sh -c "sleep 1; $root systemctl reboot || $root reboot" >/dev/null 2>&1 </dev/null &
"""


def refuse_pending(needed: dict[str, str]) -> None:
    """Raise `ChangesPending` where hosts must be restarted and nobody said that they may be."""
    if needed:
        host, reason = next(iter(needed.items()))
        raise ChangesPending(
            f"{len(needed)} host(s) must be restarted before the rest can be done: {', '.join(needed)}",
            id="reboot-needed",
            observed=f"{host}: {reason}",
            required="a restart of each of them, in a window",
            next_command="the same command with --reboot: it restarts them one after the other and goes on",
        )


def restart_all(hosts: Sequence[Host], told: Callable[[str], None], *, deadline_s: float = DEADLINE_S) -> None:
    """Restart `hosts` in turn. The first that does not come back ends it: the others stay up."""
    for host in hosts:
        restart(host, told, deadline_s=deadline_s)


def restart(host: Host, told: Callable[[str], None], *, deadline_s: float = DEADLINE_S) -> None:
    """Restart one host and wait for its new boot id; raises `ChangeFailed` when it does not come back in time."""
    before = _ask(host, BOOT_ID)
    if isinstance(before, BringupError):
        raise before
    began = time.monotonic()
    told(f"{host.name}: restarting")
    asked = _ask(host, RESTART)
    if isinstance(asked, BringupError):
        raise asked
    seen = before
    while time.monotonic() - began < deadline_s:
        time.sleep(EVERY_S)
        now = _ask(host, BOOT_ID)
        seen = f"no answer: {now.message}" if isinstance(now, BringupError) else now
        if not isinstance(now, BringupError) and now != before:
            told(f"{host.name}: back after {time.monotonic() - began:.0f} s")
            return
    raise ChangeFailed(
        "the host did not come back from its restart",
        id="reboot-failed",
        observed=f"after {deadline_s:.0f} s: {'the same boot still runs' if seen == before else seen}",
        required="another boot id",
        next_command=f"look at its console; then invoke probe --hosts {quote(host.name)}",
        host=host.name,
    )


def _ask(host: Host, script: str) -> str | BringupError:
    """By a login of its own: the one before may hang on a machine that has gone."""

    def one(transport: Transport) -> str:
        done = in_time(transport.run(script, timeout=ASK_S), transport.host)
        if done.exit_status != 0:
            raise ChangeFailed(
                "the host does not let this user restart it",
                id="reboot-failed",
                observed=done.stderr.decode(errors="replace").strip()[-200:] or f"exit status {done.exit_status}",
                required="root, or `sudo -n`",
                next_command="ssh HOST 'sudo -n true'".replace("HOST", host.name),
                host=host.name,
            )
        return done.text.strip()

    with Fleet([host]) as fleet:
        return fleet.each(one)[host.name]
