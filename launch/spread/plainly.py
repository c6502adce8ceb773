"""Where a host has no Python for the spread, rsync stands in: from one host that has the folder to each that lacks it.

Weaker: all fetch from the same host, and a wrong file is fetched again whole. What lends is rsync's own daemon at the
address of the plan, as long as this takes, read-only and by a secret that is in no list of processes.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ChangeFailed
from inventory.transport.exchange import in_time
from launch.spread import plain_scripts as scripts
from launch.spread.outcome import refusal

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.spread.parcel import Parcel
    from launch.spread.scripts import Post

ASK_S = 60.0
SLOWEST = 5e6  # bytes a second; what is slower is given up, and goes on with the next call


@dataclass(frozen=True, slots=True)
class Plainly:
    """`rate_limit`: bytes a second of each host. `about`: what its jobs say of themselves."""

    fleet: Fleet
    parcel: Parcel
    posts: Mapping[str, Post]
    rate_limit: int | None = None
    about: str = ""
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def bring(self, lenders: Sequence[str], targets: Sequence[str]) -> dict[str, BringupError | None]:
        """From the first of `lenders` that can lend; they read their copy first. None: verified, with its manifest."""
        for lender in lenders:
            port = self._lent(lender)
            if port is None:
                continue
            try:
                return self._fetched((self.posts[lender].address, port), targets)
            finally:
                self.fleet.each(self._end, [lender])
        observed = f"neither that nor rsync on {', '.join(lenders) or 'any host that has the folder'}"
        return {host: refusal("spread-python", observed, host, self.posts[host].folder) for host in targets}

    def _lent(self, lender: str) -> int | None:
        """The port at which it lends; None: it cannot."""

        def lend(transport: Transport) -> int | None:
            text = scripts.lend_script(self.posts[lender], self.parcel, self.secret)
            answer = transport.run(text, timeout=self._deadline(1))
            last = answer.text.strip().rpartition("\n")[2]
            return int(last) if answer.exit_status == 0 and last.isdecimal() else None

        port = self.fleet.each(lend, [lender])[lender]
        return port if isinstance(port, int) else None

    def _fetched(self, lender: tuple[str, int], targets: Sequence[str]) -> dict[str, BringupError | None]:
        job = f"spread-{secrets.token_hex(4)}-rsync"

        def fetch(transport: Transport) -> None:
            post = self.posts[transport.host]
            given = scripts.Given(lender, self.secret, self.rate_limit)
            text = scripts.fetch_script(post, self.parcel, given, job, self.about)
            answer = in_time(transport.run(text, timeout=self._deadline(len(targets))), transport.host)
            if answer.exit_status != 0:
                raise _refused(answer.stderr.decode(errors="replace").strip(), post)

        return self.fleet.each(fetch, targets)

    def _deadline(self, copies: int) -> float:
        return ASK_S + copies * self.parcel.size / SLOWEST

    def _end(self, transport: Transport) -> None:
        transport.run(scripts.unlend_script(self.posts[transport.host]), timeout=ASK_S)


def _refused(said: str, post: Post) -> ChangeFailed:
    reason = next((name for word, name in scripts.REASONS.items() if word in said), "spread-program")
    return refusal(reason, said[-300:], post.host, post.folder)
