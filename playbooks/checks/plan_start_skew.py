from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.start_skew"
PRIORITY = Priority.P1
WHY = "followers give up after 5 minutes without the head, and the head waits for followers without end"

JOIN_S = 300
"""After this a follower ends: HANDSHAKE_TIMEOUT_MINS of vLLM 0.33.0."""

WARN_S = 240


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    starts = {one.host: one.starts_after_s for one in needs.hosts if one.starts_after_s is not None}
    if len(starts) < 2 or needs.head not in starts:
        return (skip(ID, "", "the plan does not tell when which host starts, or there is one host"),)
    head = starts[needs.head]
    apart = {host: start - head for host, start in starts.items()}
    early = {host: -gap for host, gap in apart.items() if -gap > WARN_S}
    late = {host: gap for host, gap in apart.items() if gap > WARN_S}
    if not early and not late:
        widest = max(abs(gap) for gap in apart.values())
        return (Finding(ID, Status.PASS, "", f"all hosts start within {widest:g} s of the head"),)
    texts = [f"{host} starts {gap:g} s before the head and gives up {JOIN_S} s after" for host, gap in early.items()]
    texts += [f"{host} starts {gap:g} s after the head, which waits and says nothing" for host, gap in late.items()]
    remedy = "invoke deploy  # starts all hosts together, after everything has been installed and fetched"
    return (Finding(ID, Status.WARN, "", "; ".join(texts), "all hosts start within 30 s", remedy),)
