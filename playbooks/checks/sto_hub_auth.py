from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "sto.hub_auth"
PRIORITY = Priority.P1
WHY = "several hosts that fetch without a token are turned away by the hub (429), in the middle of the download"

_REQUIRED = "a token where weights are fetched, or one host that fetches and gives them to the others"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    fetching = [one.host for one in needs.hosts if any(s.purpose == "weights" and s.bytes_needed for s in one.space)]
    if not fetching:
        return (skip(ID, "", "no host fetches weights"),)
    tokens = {host: facts[host].hub_token for host in fetching if host in facts}
    without = [host for host, token in tokens.items() if is_known(token) and not token]
    if not without:
        told = [host for host, token in tokens.items() if is_known(token)]
        if not told:
            return (skip(ID, "", "nobody looked for tokens"),)
        return (Finding(ID, Status.PASS, "", f"a token of the hub is there on {', '.join(told)}"),)
    if len(fetching) < 2:
        return (Finding(ID, Status.PASS, "", f"{without[0]} fetches alone, without a token"),)
    observed = f"{len(fetching)} hosts fetch weights, without a token: {', '.join(without)}"
    remedy = "on one host: hf auth login; or fetch on one host and copy over the local network"
    return (Finding(ID, Status.WARN, "", observed, _REQUIRED, remedy),)
