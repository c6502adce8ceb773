"""The active checks, in the order in which they run. A test fails when a module is not listed."""

from __future__ import annotations

from playbooks.checks.active.base import ActiveCheck, HostTrial, PairTrial

HOST_TRIALS: tuple[HostTrial, ...] = ()
PAIR_TRIALS: tuple[PairTrial, ...] = ()
ACTIVE: dict[str, ActiveCheck] = {check.ID: check for check in (*HOST_TRIALS, *PAIR_TRIALS)}
