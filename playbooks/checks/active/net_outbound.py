"""Whether hosts that must download reach what they download from."""

from __future__ import annotations

import re

from inventory.facts.base import Maybe, Unknown
from inventory.quoting import quote
from playbooks.checks.active.base import Said
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "net.outbound"
PRIORITY = Priority.P2
WHY = "a host without a way out cannot download: it must be given everything by another"
DEADLINE_S = 40

_REQUIRED = "every source of the plan's downloads answers"
_REMEDY = "set proxy: or mirrors: of the host in inventory/hosts.yaml, or give it the files from a host that has them"
_REDIRECT_OR_OK = re.compile(r"[123]\d\d|40[1345]|429")


def script(host: HostRequirements, _needs: Requirements) -> str | Finding:
    if not host.fetches_from:
        return skip(ID, host.host, "the plan downloads nothing here")
    # Not among curl's words, which every user of the host can read: a proxy may have a password.
    proxy = [f"export http_proxy={quote(host.proxy)} https_proxy={quote(host.proxy)}"] if host.proxy else []
    tries = [f"answer {quote(url)} &" for url in host.fetches_from]
    return "\n".join(
        [
            *proxy,
            "command -v curl >/dev/null || { echo no-tool curl; exit 0; }",
            "answer() {",
            '    code=$(curl -s -I -o /dev/null -m 15 -w "%{http_code}" "$1")',
            '    echo answer "${code:-000}" "$1"',
            "}",
            *tries,
            "wait\n",
        ]
    )


def judge(said: Maybe[Said], host: HostRequirements, _needs: Requirements) -> Finding:
    answers = said.values("answer") if isinstance(said, Said) else ()
    if isinstance(said, Unknown) or not answers:
        tools = said.value("no-tool") if isinstance(said, Said) else None
        if tools:
            return skip(ID, host.host, f"there is no {tools} to try it with")
        observed = str(said) if isinstance(said, Unknown) else said.complaint
        return Finding(ID, Status.UNKNOWN, host.host, observed, _REQUIRED, _REMEDY)
    pairs = [line.partition(" ")[::2] for line in answers]
    blocked = [f"{url} ({'no answer' if code == '000' else code})" for code, url in pairs if not reached(code)]
    if blocked:
        return Finding(ID, Status.WARN, host.host, f"{', '.join(blocked)}", _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, host.host, f"{len(pairs)} sources answer")


def reached(code: str) -> bool:
    """Whoever asks for a login or dislikes the question is there."""
    return _REDIRECT_OR_OK.fullmatch(code) is not None
